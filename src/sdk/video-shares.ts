import type { EndpointPart } from '../contract/endpoint.ts';
import * as endpoints from '../contract/video-shares.ts';
import { fetchAllPages } from './fetch-all-pages.ts';
import type { Transport } from './transport.ts';

export type ShareInfo = EndpointPart<typeof endpoints.listShares, 'response'>['data'][number];
export type NewShare = EndpointPart<typeof endpoints.createShare, 'body'>;
export type CreatedShare = EndpointPart<typeof endpoints.createShare, 'response'>['data'];

/** Links by which anybody who has one can watch a video of the account. */
export class Shares {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Makes a link to a finished video. Without options it lasts as long as the video and needs no password. */
  async create(videoId: string, options: NewShare = {}): Promise<CreatedShare> {
    const params = { task_id: videoId };
    return (await this.#transport.call(endpoints.createShare, { params, body: options })).data;
  }

  /** All links that work, newest first; of one video or of all. */
  async list(videoId?: string): Promise<ShareInfo[]> {
    if (videoId === undefined) return fetchAllPages((query) => this.#transport.call(endpoints.listShares, { query }));
    return (await this.#transport.call(endpoints.listVideoShares, { params: { task_id: videoId } })).data;
  }

  /** Ends a link at once. */
  async remove(videoId: string, id: number): Promise<void> {
    await this.#transport.call(endpoints.deleteShare, { params: { task_id: videoId, id: String(id) } });
  }
}
