import type { ChannelDetail } from '../../../data/admin-types.ts';

/** How a channel's upstream is reached, as the form holds it: one `name: value` or `our name = its name` a line. */
export interface UpstreamRequestFormValues {
  readonly modelMapping: string;
  readonly extraHeaders: string;
  readonly proxy: string;
  /** The proxy as it was shown, without its credentials; while it is unchanged, the stored one stays. */
  readonly shownProxy: string;
}

export const newUpstreamRequestFormValues = (): UpstreamRequestFormValues => ({
  modelMapping: '',
  extraHeaders: '',
  proxy: '',
  shownProxy: '',
});

export const toUpstreamRequestFormValues = ({ model_mapping, proxy }: ChannelDetail): UpstreamRequestFormValues => ({
  modelMapping: Object.entries(model_mapping)
    .map((pair) => pair.join(' = '))
    .join('\n'),
  extraHeaders: '',
  proxy,
  shownProxy: proxy,
});

/** Headers that are left empty and a proxy that is left as it is stay as they are stored. */
export function toUpstreamRequestBody({ modelMapping, extraHeaders, proxy, shownProxy }: UpstreamRequestFormValues) {
  return {
    model_mapping: parsePairs(modelMapping, '='),
    ...(extraHeaders.trim() === '' ? {} : { extra_headers: parsePairs(extraHeaders, ':') }),
    ...(proxy.trim() === shownProxy ? {} : { proxy: proxy.trim() }),
  };
}

/** One pair a line, divided at the first separator; a line without one has an empty value, which the service refuses by name. */
function parsePairs(text: string, separator: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...rest] = line.split(separator);
      return [name.trim(), rest.join(separator).trim()];
    }),
  );
}
