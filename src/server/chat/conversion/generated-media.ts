import type { GeneratedMedia } from './neutral-form.ts';

const DATA_URL = /^data:([^;,]*)((?:;[^;,]*)*),/i;

/** Media behind a URL, or inside a data URL. */
export function mediaOf(url: string, mediaType: string): GeneratedMedia {
  const [head, type = '', parameters = ''] = DATA_URL.exec(url) ?? [];
  if (head === undefined) return { mediaType, url };
  const content = url.slice(head.length);
  const isBase64 = /;\s*base64$/i.test(parameters);
  return {
    mediaType: type || mediaType,
    data: isBase64 ? content : Buffer.from(decodeLoosely(content)).toString('base64'),
  };
}

function decodeLoosely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const toUrl = ({ mediaType, data, url }: GeneratedMedia): string =>
  url ?? `data:${mediaType};base64,${data ?? ''}`;

/** Media where a dialect has no place for them but its text. */
export const toMarkdown = (media: GeneratedMedia): string =>
  `${media.mediaType.startsWith('image/') ? '!' : ''}[${media.mediaType.split('/')[0]}](${toUrl(media)})`;
