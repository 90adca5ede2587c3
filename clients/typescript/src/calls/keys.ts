/** The calls about the company's keys. They are the company's own, so no user is acted for. */

import { read } from "../answers.js";
import { SecretLostError } from "../errors.js";
import type * as models from "../models.js";
import * as shapes from "../shapes.js";
import { type Call, get, post, ROOT, remove, segment, unique } from "./call.js";
import { type KeyRef, keyId, type UserRef, userId } from "./ids.js";

const KEYS = `${ROOT}/auth/keys`;

export function createKey(name: string, activeTenantUser: UserRef | undefined): Call<models.NewKey> {
  const sealed = activeTenantUser === undefined ? undefined : userId(activeTenantUser, "active_tenant_user_id");
  const body = { name, active_tenant_user_id: sealed };
  return { ...post(KEYS, body, shapes.NEW_KEY, { idempotencyKey: unique() }), read: withItsSecret };
}

export function listKeys(query: models.PageOptions): Call<models.KeyPage> {
  return get(KEYS, query, shapes.KEY_PAGE);
}

export function revokeKey(key: KeyRef): Call<void> {
  return { ...remove(`${KEYS}/${segment(keyId(key))}`), doneWhenAbsent: true };
}

/** The new key. Throws a SecretLostError for a repeated answer, which has the key no more. */
function withItsSecret(content: Uint8Array): models.NewKey {
  const key: models.KeyFacts & { api_key?: string | null } = read(shapes.KEY_FACTS, content);
  if (key.api_key !== null) return read(shapes.NEW_KEY, content);
  throw new SecretLostError(
    `The key '${key.name}' was made, but the answer that showed it was lost, and no other will.`,
    { hint: `Revoke the key ${key.key_id} and make another.`, details: { key_id: key.key_id } },
  );
}
