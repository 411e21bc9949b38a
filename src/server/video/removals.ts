import type { Channels } from '../channels/channels.ts';
import type { Log } from '../platform/log.ts';
import type { VendorCalls } from './calls.ts';
import type { Task } from './store.ts';
import type { Vendors } from './vendors.ts';

export interface RemovalParts {
  readonly channels: Channels;
  readonly vendors: Vendors;
  readonly calls: VendorCalls;
  readonly log: Log;
  /** Ends when the service stops. */
  readonly stopping: AbortSignal;
}

/** Deletes videos at their vendors, where they let one, after they were deleted here; nobody waits for it or is told. */
export class Removals {
  readonly #parts: RemovalParts;
  constructor(parts: RemovalParts) {
    this.#parts = parts;
  }

  begin(task: Task): void {
    void this.#remove(task).catch((error: unknown) =>
      this.#parts.log.info({ err: error, taskId: task.id }, 'a video was not deleted at its vendor'),
    );
  }

  async #remove(task: Task): Promise<void> {
    const { channels, vendors, calls, stopping } = this.#parts;
    const vendor = vendors.get(task.vendor);
    if (task.handle === null || task.channel_id === null || vendor.remove === undefined) return;
    const channel = await channels.byId(task.channel_id);
    if (channel !== undefined) await vendor.remove(JSON.parse(task.handle), calls.make(channel, stopping));
  }
}
