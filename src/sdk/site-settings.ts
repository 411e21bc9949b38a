import * as endpoints from '../contract/site-settings.ts';
import type { Transport } from './transport.ts';

export type SiteSettingInfo = endpoints.SiteSetting;

/** The settings of the site; for root. */
export class SiteSettings {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All of them with the value in effect and where it comes from. */
  async list(): Promise<SiteSettingInfo[]> {
    return (await this.#transport.call(endpoints.listSiteSettings, {})).data;
  }

  /**
   * Stores one; it is in effect on every process within seconds.
   *
   * @param value null: back to the default
   * @throws ReelgateError where the environment gives the setting, or it cannot have this value
   */
  async set(name: string, value: string | null): Promise<SiteSettingInfo> {
    return (await this.#transport.call(endpoints.updateSiteSetting, { params: { name }, body: { value } })).data;
  }
}
