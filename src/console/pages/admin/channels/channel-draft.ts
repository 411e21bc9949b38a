import type { makeChannel } from '../../../../contract/channels.ts';
import type { PartOf } from '../../../../contract/endpoint.ts';
import type { ChannelDetail } from './channel-page.tsx';
import { type ChannelVendor, VENDOR_FORMS, type Way } from './vendors.ts';

/** A channel as its form holds it. Credentials are typed anew each time: the service never shows them again. */
export interface ChannelDraft {
  readonly name: string;
  readonly vendor: ChannelVendor;
  readonly way: Way['key'];
  readonly credentials: Readonly<Record<string, string>>;
  readonly baseUrl: string;
  readonly models: readonly string[];
  readonly priority: number | string;
  readonly weight: number | string;
  readonly enabled: boolean;
  readonly options: Readonly<Record<string, unknown>>;
}

export const emptyDraft = (vendor: ChannelVendor): ChannelDraft => ({
  name: VENDOR_FORMS[vendor].title,
  vendor,
  way: VENDOR_FORMS[vendor].ways[0].key,
  credentials: {},
  baseUrl: '',
  models: [],
  priority: 0,
  weight: 1,
  enabled: true,
  options: {},
});

export function toDraft(channel: ChannelDetail): ChannelDraft {
  const vendor = channel.vendor as ChannelVendor;
  const { ways, baseUrl } = VENDOR_FORMS[vendor];
  const way = ways.find(({ fields }) => channel.credential_keys.every((key) => key in fields)) ?? ways[0];
  return {
    name: channel.name,
    vendor,
    way: way.key,
    credentials: {},
    baseUrl: channel.base_url === baseUrl ? '' : channel.base_url,
    models: channel.models,
    priority: channel.priority,
    weight: channel.weight,
    enabled: channel.enabled,
    options: channel.options,
  };
}

export const wayOf = ({ vendor, way }: Pick<ChannelDraft, 'vendor' | 'way'>): Way => {
  const { ways } = VENDOR_FORMS[vendor];
  return ways.find(({ key }) => key === way) ?? ways[0];
};

/** Nothing of the credentials was typed: those on file stay. */
export const keepsCredentials = (draft: ChannelDraft): boolean =>
  Object.keys(wayOf(draft).fields).every((name) => (draft.credentials[name] ?? '').trim() === '');

/** @throws SyntaxError where a pasted object is no JSON */
export function toBody(draft: ChannelDraft): PartOf<typeof makeChannel, 'body'> {
  const credentials = Object.fromEntries(
    Object.entries(wayOf(draft).fields).map(([name, kind]) => {
      const text = (draft.credentials[name] ?? '').trim();
      return [name, kind === 'json' ? (JSON.parse(text) as unknown) : text];
    }),
  );
  return { ...toSettings(draft), vendor: draft.vendor, credentials };
}

export const toSettings = (draft: ChannelDraft) => ({
  name: draft.name.trim(),
  base_url: draft.baseUrl.trim(),
  models: [...draft.models],
  priority: Number(draft.priority),
  weight: Number(draft.weight),
  enabled: draft.enabled,
  options: { ...draft.options },
});
