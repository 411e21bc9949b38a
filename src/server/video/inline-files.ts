import { LRUCache } from 'lru-cache';
import type { Channel } from '../channels/channels.ts';
import { Gate } from '../platform/outbound/gate.ts';
import type { VendorCalls } from './calls.ts';
import type { Task } from './store.ts';
import { type ContentSource, CouldNotAsk } from './vendor.ts';
import type { Vendors } from './vendors.ts';

type File = Extract<ContentSource, { kind: 'bytes' }>;

const MAX_KEPT_BYTES = 64 * 1024 ** 2;
/** As long as somebody plays it; a player asks for many ranges of one file. */
const KEPT_MS = 5 * 60_000;
/** Each answer is held as text, as JSON and as bytes for a moment. */
const AT_ONCE = 2;
const WAIT_MS = 30_000;

export interface InlineFileParts {
  readonly vendors: Vendors;
  readonly calls: VendorCalls;
  /** Ends when the service stops. */
  readonly stopping: AbortSignal;
}

/**
 * Videos that a vendor sends inside its JSON (Vertex AI without a bucket). Such an answer has tens of megabytes whatever
 * range is asked for, so one is fetched once, shared by all who ask meanwhile, and kept while it is being played.
 */
export class InlineFiles {
  readonly #files: LRUCache<string, File, { task: Task; channel: Channel }>;

  constructor({ vendors, calls, stopping }: InlineFileParts) {
    const gate = new Gate(AT_ONCE, 256);
    this.#files = new LRUCache({
      maxSize: MAX_KEPT_BYTES,
      sizeCalculation: ({ bytes }) => bytes.length,
      ttl: KEPT_MS,
      ttlAutopurge: true,
      fetchMethod: async (_id, _stale, { context: { task, channel } }) => {
        const leave = await gate.enter(WAIT_MS);
        if (leave === undefined) throw new CouldNotAsk('too many videos are being fetched');
        try {
          // Whoever asked first may leave; those who came later still want it.
          const call = calls.make(channel, stopping);
          const handle = JSON.parse(task.handle ?? 'null');
          const file = await vendors.get(task.vendor).content(handle, JSON.parse(task.data), undefined, call);
          if (file.kind !== 'bytes') throw new CouldNotAsk('the upstream keeps this video elsewhere by now');
          return file;
        } finally {
          leave();
        }
      },
    });
  }

  /** Throws what the adapter throws: CouldNotAsk, VendorRefusal, OutboundError. */
  of(task: Task, channel: Channel): Promise<File> {
    return this.#files.forceFetch(task.id, { context: { task, channel } });
  }
}
