import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import { assertPublicUrl } from '../platform/outbound/guard.ts';
import { isMedia, walkStrings } from './walk-body-strings.ts';

/** Members that hold text of users or models, which may begin with a URL. Compared by exact spelling. */
const PROSE_KEYS: ReadonlySet<string> = new Set([
  'content',
  'text',
  'prompt',
  'input',
  'instructions',
  'system',
  'arguments',
  'output',
  'refusal',
  'reasoning_content',
  'reasoning',
  'thinking',
  'summary',
  'description',
  'title',
  'default',
  'const',
  'enum',
  'examples',
  'pattern',
  'stop',
]);

/** A picture or document that the upstream fetches by its URL, in Anthropic's form. */
const isLinkedMedia = ({ type, source }: UntrustedObject): boolean =>
  (type === 'image' || type === 'document') && asObject(source)?.type === 'url';

/** A file in the store of the account, which all callers share, or one that Google fetches. */
const namesGoogleFile = ({ fileUri, file_uri: uri }: UntrustedObject): boolean =>
  typeof fileUri === 'string' || typeof uri === 'string';

const NO_KEYS: ReadonlySet<string> = new Set();

/** What a body holds besides text. */
export interface MediaAndReferenceCounts {
  /** Characters of inline media and of URLs of media. */
  readonly mediaLength: number;
  readonly imageCount: number;
  /** Items that stand for text kept by the upstream (`{type: "item_reference"}`). */
  readonly itemReferences: number;
  /** Files kept by the upstream that are named by their id. */
  readonly fileIds: number;
}

/**
 * Checks every URL of a body and measures its media, in one pass. URLs are not fetched here but handed on, and an upstream
 * inside our own network would reach what the caller cannot.
 *
 * @throws AppError `invalid_request` for a URL of this machine or of a private network, in any member but those of prose
 */
export function checkUrlsAndCountMedia(body: UntrustedObject): MediaAndReferenceCounts {
  let mediaLength = 0;
  let imageCount = 0;
  let itemReferences = 0;
  let fileIds = 0;
  walkStrings(
    body,
    (key, text, isMediaPart) => {
      if (isMedia(key, text)) {
        mediaLength += text.length;
        imageCount++;
      }
      const isProse = isMediaPart ? key === 'text' : PROSE_KEYS.has(key);
      if (!isProse && mayBeUrl(text)) assertPublicUrl(key, text);
    },
    (object) => {
      if (object.type === 'item_reference') itemReferences++;
      if (isLinkedMedia(object)) imageCount++;
      if (typeof object.file_id === 'string' || Array.isArray(object.file_ids) || namesGoogleFile(object)) fileIds++;
    },
    NO_KEYS,
  );
  return { mediaLength, imageCount, itemReferences, fileIds };
}

/** A cheap test that nearly all strings of a body fail. */
const mayBeUrl = (text: string): boolean => text.includes(':') || text.includes('//') || text.includes('\\');
