import { CHAT_VENDORS, type ChatVendor } from '../../../contract/channels.ts';
import { tryParse } from '../try-parse-json.ts';
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

/**
 * What upstreams in OpenAI's dialect give in place of a signature: `reasoning_details` (OpenRouter) or the `extra_content` of a call (Google). They
 * want it back as it was, so the signature holds its JSON.
 */
export type OpaqueKind = 'reasoning_details' | 'extra_content';

export const packOpaque = (kind: OpaqueKind, value: unknown): Signature => ({
  vendor: 'openai',
  value: `${kind}:${Buffer.from(JSON.stringify(value)).toString('base64url')}`,
});

const OPAQUE = /^(reasoning_details|extra_content):([\w-]+)$/;

/** Undefined for all other signatures. */
export function unpackOpaque(
  signature: Signature | undefined,
): { readonly kind: OpaqueKind; readonly value: unknown } | undefined {
  const [, kind, packed] = (signature?.vendor === 'openai' && OPAQUE.exec(signature.value)) || [];
  const value = packed === undefined ? undefined : tryParse(Buffer.from(packed, 'base64url').toString('utf8'));
  return value === undefined ? undefined : { kind: kind as OpaqueKind, value };
}
