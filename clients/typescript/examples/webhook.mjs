/**
 * A receiver of webhooks: the service posts each message of a queue to it, and there is no worker to run.
 *
 *     WEBHOOK_SECRET=whsec_… PORT=3000 node webhook.mjs
 *
 * The secret was shown when the consumer was set:
 *
 *     const { secret } = await naive.queue.consumer.set(id, { type: "webhook", url: "https://…" });
 */

import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { InvalidWebhookError, verifyWebhook } from "naive-queue";

const secret = process.env.WEBHOOK_SECRET ?? "";

const server = createServer(async (request, response) => {
  try {
    // The bytes as they came: what was parsed and written again would have another signature.
    const body = await buffer(request);
    const message = verifyWebhook(secret, request.headers, body);
    console.log(`${message.message_id}: ${message.body}`);
    response.writeHead(204).end(); // the message is acked; anything else, and it comes again
  } catch (error) {
    console.error(String(error));
    response.writeHead(error instanceof InvalidWebhookError ? 401 : 500).end();
  }
});

server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log("listening"));
