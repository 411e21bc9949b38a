import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import { assertPublicUrl } from '../platform/outbound/assert-no-private-urls.ts';

/** Members that hold media; the same letters anywhere else are text to a model. */
const MEDIA_KEY = /^((image|video|audio|file)_url|file_data|data|image|images|video|audio|b64_json)$/;
const VISUAL_URL_KEY = /^(image|video)_url$/;
/** Types of message parts whose members are media, whatever they are called; their `text` alone is prose. */
const MEDIA_PART = /image|video|audio|file|media|document/i;

/** A data URL, Base64 without a blank in it, or the URL of an image or video. */
const isMedia = (key: string, text: string): boolean =>
  (VISUAL_URL_KEY.test(key) && /^https?:/i.test(text)) ||
  (MEDIA_KEY.test(key) && (/^data:/i.test(text) || (text.length > 1_024 && /^[A-Za-z0-9+/]{1024}/.test(text))));

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

/** Members of a body that are not part of what a model reads. */
const NON_PROMPT_KEYS: ReadonlySet<string> = new Set([
  'model',
  'role',
  'type',
  'detail',
  'format',
  'id',
  'tool_call_id',
  'call_id',
  'tool_use_id',
  'media_type',
  'signature',
]);

/**
 * Visits every string of a value, without recursion, since depth is the sender's choice, and without an allocation per
 * element, since so is width. `key` is the member a string stands in; `url` of an object goes by the name of that object.
 */
function walkStrings(
  root: unknown,
  onString: (key: string, text: string, isMediaPart: boolean) => void,
  onObject: (object: UntrustedObject) => void,
  skippedKeys: ReadonlySet<string>,
): void {
  const keys = [''];
  const values = [root];
  while (values.length > 0) {
    const value = values.pop();
    const key = keys.pop() ?? '';
    if (Array.isArray(value)) {
      for (const inner of value) {
        if (typeof inner === 'string') onString(key, inner, false);
        else if (typeof inner === 'object' && inner !== null) {
          keys.push(key);
          values.push(inner);
        }
      }
    } else if (typeof value === 'object' && value !== null) {
      const object = value as UntrustedObject;
      onObject(object);
      const isMediaPart = typeof object.type === 'string' && MEDIA_PART.test(object.type);
      for (const name of Object.keys(object)) {
        if (skippedKeys.has(name)) continue;
        const inner = object[name];
        const innerKey = key === OPAQUE_KEY || isToolArguments(name, object) ? OPAQUE_KEY : name === 'url' ? key : name;
        if (typeof inner === 'string') onString(innerKey, inner, isMediaPart);
        else if (typeof inner === 'object' && inner !== null) {
          keys.push(innerKey);
          values.push(inner);
        }
      }
    }
  }
}

/**
 * Stands for the names below a member whose object is a caller's own data: the arguments of a tool call, which may hold URLs of
 * the caller's machine and are text to a model.
 */
const OPAQUE_KEY = 'arguments';

const isToolArguments = (name: string, { type, name: func }: UntrustedObject): boolean =>
  (name === 'input' && (type === 'tool_use' || type === 'server_tool_use')) ||
  ((name === 'args' || name === 'response') && type === undefined && typeof func === 'string');

/** A picture or document that the upstream fetches by its URL, in Anthropic's form. */
const isLinkedMedia = ({ type, source }: UntrustedObject): boolean =>
  (type === 'image' || type === 'document') && asObject(source)?.type === 'url';

/** A file in the store of the account, which all callers share, or one that Google fetches. */
const namesGoogleFile = ({ fileUri, file_uri: uri }: UntrustedObject): boolean =>
  typeof fileUri === 'string' || typeof uri === 'string';

const NO_KEYS: ReadonlySet<string> = new Set();

/** What a body holds besides text. */
export interface BodyContents {
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
export function inspectBody(body: UntrustedObject): BodyContents {
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

/** What a model reads of a body. */
export interface PromptContent {
  /** Without its pictures. */
  readonly text: string;
  readonly imageCount: number;
  /** Texts that come as tokens already, as embeddings take them. */
  readonly tokenIdCount: number;
}

export function extractPrompt(body: UntrustedObject): PromptContent {
  const texts: string[] = [];
  let imageCount = 0;
  walkStrings(
    body,
    (key, text) => {
      if (isMedia(key, text)) imageCount++;
      else texts.push(text);
    },
    () => {},
    NON_PROMPT_KEYS,
  );
  const input = Array.isArray(body.input) ? body.input.flat() : [];
  return { text: texts.join('\n'), imageCount, tokenIdCount: input.filter((each) => typeof each === 'number').length };
}
