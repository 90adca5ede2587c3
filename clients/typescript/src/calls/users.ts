/** The calls about the company's users. They are the company's own, so no user is acted for. */

import type * as models from "../models.js";
import * as shapes from "../shapes.js";
import { type Call, get, patch, post, ROOT, remove, segment, unique } from "./call.js";
import { type UserRef, userId } from "./ids.js";

const USERS = `${ROOT}/users`;

export function createUser(fields: models.UserFields): Call<models.User> {
  return post(USERS, fields, shapes.USER, { idempotencyKey: unique() });
}

export function listUsers(query: models.PageOptions & { external_id?: string }): Call<models.UserPage> {
  return get(USERS, query, shapes.USER_PAGE);
}

export function getUser(user: UserRef): Call<models.User> {
  return get(pathOf(user), {}, shapes.USER);
}

export function updateUser(user: UserRef, fields: models.UserFields): Call<models.User> {
  return patch(pathOf(user), fields, shapes.USER);
}

export function deleteUser(user: UserRef, force: boolean): Call<void> {
  return { ...remove(pathOf(user), force ? { force: true } : {}), doneWhenAbsent: true };
}

function pathOf(user: UserRef): string {
  return `${USERS}/${segment(userId(user))}`;
}
