import { CHAT_VENDORS, type ChatVendor } from '../../../contract/channels.ts';
import type { Signature } from './neutral-form.ts';

const TAG = new RegExp(`^reelgate-(${CHAT_VENDORS.join('|')}):`);

/**
 * A signature in a dialect of another vendor than the one that gave it. It says whose it is, since it comes back with the next turn, which
 * may go to another model.
 */
export const tagSignature = ({ vendor, value }: Signature): string => `reelgate-${vendor}:${value}`;

/** @param own the vendor of signatures without a tag; undefined: nobody's */
export function readSignature(text: unknown, own: ChatVendor | undefined): Signature | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  const vendor = TAG.exec(text)?.[1] as ChatVendor | undefined;
  if (vendor !== undefined) return { vendor, value: text.slice(`reelgate-${vendor}:`.length) };
  return own === undefined ? undefined : { vendor: own, value: text };
}
