/**
 * A web app that puts its work on a queue, so that who asks for it need not wait:
 *
 *     NAIVE_BASE_URL=… NAIVE_API_KEY=… NAIVE_QUEUE_ID=… PORT=3000 node web-app.mjs
 *     curl -d '{"url": "https://…"}' http://127.0.0.1:3000/thumbnails
 */

import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { Naive, NaiveError } from "naive-queue";

const naive = new Naive();
const queueId = process.env.NAIVE_QUEUE_ID ?? "";

const server = createServer(async (request, response) => {
  if (request.method !== "POST" || request.url !== "/thumbnails") return response.writeHead(404).end();
  try {
    const { message_id } = await naive.queue.send(queueId, await text(request), { attributes: { kind: "thumbnail" } });
    return response.writeHead(202, { "Content-Type": "application/json" }).end(JSON.stringify({ id: message_id }));
  } catch (error) {
    console.error(String(error)); // has the request's id, for whoever runs the service
    const isTooLarge = error instanceof NaiveError && error.status === 413;
    return response.writeHead(isTooLarge ? 413 : 503).end();
  }
});

server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log("listening"));
