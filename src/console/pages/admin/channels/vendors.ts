import type { CHANNEL_VENDORS } from '../../../../contract/channels.ts';

export type ChannelVendor = (typeof CHANNEL_VENDORS)[number];

/** How one key of a vendor's credentials is asked for; `json`: an object, pasted or read from a file. */
export type FieldKind = 'secret' | 'text' | 'json';
export interface Way {
  readonly key: 'keyPair' | 'apiKey' | 'serviceAccount';
  readonly fields: Readonly<Record<string, FieldKind>>;
}
interface VendorForm {
  readonly title: string;
  /** What an empty address means. */
  readonly baseUrl: string;
  readonly ways: readonly [Way, ...Way[]];
}

const API_KEY: Way = { key: 'apiKey', fields: { api_key: 'secret' } };
const KEY_PAIR: Way = { key: 'keyPair', fields: { access_key: 'secret', secret_key: 'secret' } };
const SERVICE_ACCOUNT: Way = {
  key: 'serviceAccount',
  fields: { service_account: 'json', project: 'text', location: 'text' },
};

/** What each vendor's form asks for; the service checks it again. */
export const VENDOR_FORMS: Readonly<Record<ChannelVendor, VendorForm>> = {
  kling: { title: 'Kling', baseUrl: 'https://api-singapore.klingai.com', ways: [KEY_PAIR, API_KEY] },
  jimeng: { title: 'Jimeng', baseUrl: 'https://visual.volcengineapi.com', ways: [KEY_PAIR] },
  hailuo: { title: 'Hailuo', baseUrl: 'https://api.minimax.io', ways: [API_KEY] },
  seedance: { title: 'Seedance', baseUrl: 'https://ark.cn-beijing.volces.com', ways: [API_KEY] },
  wan: { title: 'Wan', baseUrl: 'https://dashscope.aliyuncs.com', ways: [API_KEY] },
  veo: { title: 'Google Veo', baseUrl: 'https://generativelanguage.googleapis.com', ways: [API_KEY, SERVICE_ACCOUNT] },
  vidu: { title: 'Vidu', baseUrl: 'https://api.vidu.cn', ways: [API_KEY] },
  sora: { title: 'Sora', baseUrl: 'https://api.openai.com', ways: [API_KEY] },
  openai: { title: 'OpenAI chat protocol', baseUrl: 'https://api.openai.com', ways: [API_KEY] },
};

export const vendorTitle = (vendor: string): string => VENDOR_FORMS[vendor as ChannelVendor]?.title ?? vendor;

export const VENDOR_CHOICES = Object.entries(VENDOR_FORMS).map(([value, { title }]) => ({ value, label: title }));

/** Loopback and private addresses as they are typed, to offer the switch for them; the service decides. */
export function looksPrivate(baseUrl: string): boolean {
  const host = /^https?:\/\/(\[[^\]]*\]|[^/:?#]*)/i.exec(baseUrl.trim())?.[1] ?? '';
  return /^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[(::1|f[cd]))/i.test(host);
}
