/** Lists that come in pages, as one. */

type Page<Name extends string, Entry> = { readonly [Each in Name]: Entry[] } & { readonly next_cursor: string | null };

/** Each entry of a list, which stands under this name in its pages; a page is asked for when it is needed. */
export async function* eachOf<Query extends object, Name extends string, Entry>(
  query: Query,
  list: (query: Query & { cursor?: string }) => Promise<Page<Name, Entry>>,
  name: Name,
): AsyncGenerator<Entry, void> {
  let page = await list(query);
  yield* page[name];
  while (page.next_cursor !== null && page.next_cursor !== undefined) {
    page = await list({ ...query, cursor: page.next_cursor });
    yield* page[name];
  }
}
