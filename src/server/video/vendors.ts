import type { VendorName } from '../../contract/states.ts';
import type { ChannelVendor } from '../channels/channels.ts';
import type { VideoVendor } from './vendor.ts';

/** The adapters by name. */
export class Vendors {
  readonly #byName: ReadonlyMap<string, VideoVendor>;
  constructor(adapters: readonly VideoVendor[]) {
    this.#byName = new Map(adapters.map((adapter) => [adapter.name, adapter]));
  }

  get(name: ChannelVendor): VideoVendor {
    const vendor = this.#byName.get(name);
    if (vendor === undefined) throw new Error(`no adapter for vendor ${name}`);
    return vendor;
  }

  get all(): readonly VideoVendor[] {
    return [...this.#byName.values()];
  }

  /** Rows of models to make at first start, at the adapters' own prices. */
  get seeds() {
    return this.all.flatMap(({ name, models }) =>
      models.map(({ id, price }) => ({ id, price, vendor: name, kind: 'video' }) as const),
    );
  }

  has(name: string): name is VendorName {
    return this.#byName.has(name);
  }
}
