import type { Static } from 'typebox';
import type { PartOf } from '../contract/endpoint.ts';
import { getOwnPackage, listPackageCards, type PackageCard, redeemCode } from '../contract/packages.ts';
import type { Transport } from './transport.ts';

export type PackageCardInfo = Static<typeof PackageCard>;
export type OwnPackage = PartOf<typeof getOwnPackage, 'answer'>['data'];
export type Redeemed = PartOf<typeof redeemCode, 'answer'>['data'];

/** Package cards: what there is, what the account has, and codes that bring more. */
export class Packages {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Cards to be had, the lowest level first. Needs no credential. */
  async list(): Promise<PackageCardInfo[]> {
    return (await this.#transport.call(listPackageCards, {})).data;
  }

  /** The account's package: what is left of its allowances, when they refresh, what waits. */
  async own(): Promise<OwnPackage> {
    return (await this.#transport.call(getOwnPackage, {})).data;
  }

  /**
   * Uses a redemption code, which works once; case, spaces and dashes do not matter. Never sent twice by itself: when the answer
   * is lost, `own` and the wallet tell whether it worked.
   */
  async redeem(code: string): Promise<Redeemed> {
    return (await this.#transport.call(redeemCode, { body: { code } })).data;
  }
}
