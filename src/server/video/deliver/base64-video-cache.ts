import { LRUCache } from 'lru-cache';
import { Semaphore } from '../../platform/concurrency.ts';
import { PollFailed } from '../../upstreams/vendor-errors.ts';
import type { ContentSource } from '../../vendors/adapter.ts';
import type { Task } from '../task-store.ts';
import type { VideoUpstream } from '../video-upstream-types.ts';

type InlineFile = Extract<ContentSource, { kind: 'bytes' }>;

const MAX_CACHED_BYTES = 64 * 1024 ** 2;
/** A player requests many ranges of one file within minutes. */
const CACHE_TTL_MS = 5 * 60_000;
/** Each response is in memory as text, as JSON and as bytes for a moment. */
const MAX_CONCURRENT_FETCHES = 2;
const MAX_QUEUED_FETCHES = 256;
const FETCH_WAIT_MS = 30_000;

/**
 * Videos that a vendor sends inside its JSON (Vertex AI without a bucket). Such a response has tens of megabytes whatever range
 * is requested, so it is fetched once for all concurrent readers and cached while it is being played.
 */
export class Base64VideoCache {
  readonly #files: LRUCache<string, InlineFile, { task: Task; upstream: VideoUpstream }>;

  /** @param stopping aborted when the service stops */
  constructor(stopping: AbortSignal) {
    const semaphore = new Semaphore(MAX_CONCURRENT_FETCHES, MAX_QUEUED_FETCHES);
    this.#files = new LRUCache({
      maxSize: MAX_CACHED_BYTES,
      sizeCalculation: ({ bytes }) => bytes.length,
      ttl: CACHE_TTL_MS,
      ttlAutopurge: true,
      fetchMethod: async (_id, _stale, { context: { task, upstream } }) => {
        const release = await semaphore.acquire(FETCH_WAIT_MS);
        if (release === undefined) throw new PollFailed('too many videos are being fetched');
        try {
          // Not the first reader's signal: it may disconnect while others still wait for the file.
          const file = await upstream.call(stopping, (adapter, handle, context) =>
            adapter.content(handle, JSON.parse(task.data), undefined, context),
          );
          if (file.kind !== 'bytes') throw new PollFailed('the upstream now keeps this video at a URL');
          return file;
        } finally {
          release();
        }
      },
    });
  }

  /** @throws what the adapter throws: PollFailed, UnsupportedRequestError, OutboundError */
  get(task: Task, upstream: VideoUpstream): Promise<InlineFile> {
    return this.#files.forceFetch(task.id, { context: { task, upstream } });
  }
}
