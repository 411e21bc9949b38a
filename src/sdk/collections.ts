import * as endpoints from '../contract/collections.ts';
import { defined } from '../contract/objects.ts';
import type { Transport } from './transport.ts';

/** A named group of the account's videos. */
export type CollectionInfo = endpoints.Collection;

/** Collections of the account's own videos. */
export class Collections {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * All collections, by name.
   * @param taskId a video; `contains` then says whether it is in the collection
   * @throws ReelgateError `unauthorized`
   */
  async list(taskId?: string): Promise<CollectionInfo[]> {
    return (await this.#transport.call(endpoints.listCollections, { query: defined({ task_id: taskId }) })).data;
  }

  /** Creates an empty collection and returns its id. @throws ReelgateError `already_exists`, `collections_full` */
  async create(name: string): Promise<number> {
    return (await this.#transport.call(endpoints.createCollection, { body: { name } })).data.id;
  }

  /** Renames a collection. @throws ReelgateError `not_exist`, `already_exists` */
  async rename(id: number, name: string): Promise<void> {
    await this.#transport.call(endpoints.renameCollection, { params: { id: String(id) }, body: { name } });
  }

  /** Deletes a collection; its videos stay. @throws ReelgateError `not_exist` */
  async delete(id: number): Promise<void> {
    await this.#transport.call(endpoints.deleteCollection, { params: { id: String(id) } });
  }

  /** Adds up to 100 videos, all or none. @throws ReelgateError `not_exist` */
  async add(id: number, taskIds: readonly string[]): Promise<void> {
    await this.#transport.call(endpoints.addToCollection, {
      params: { id: String(id) },
      body: { task_ids: [...taskIds] },
    });
  }

  /** Removes up to 100 videos, which are not deleted. @throws ReelgateError `not_exist` */
  async remove(id: number, taskIds: readonly string[]): Promise<void> {
    await this.#transport.call(endpoints.removeFromCollection, {
      params: { id: String(id) },
      body: { task_ids: [...taskIds] },
    });
  }
}
