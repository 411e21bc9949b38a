import type { UntrustedObject } from '../../contract/is-object.ts';

/** Members that hold media; the same letters anywhere else are text to a model. */
const MEDIA_KEY = /^((image|video|audio|file)_url|file_data|data|image|images|video|audio|b64_json)$/;
const VISUAL_URL_KEY = /^(image|video)_url$/;
/** Types of message parts whose members are media, whatever they are called; their `text` alone is prose. */
const MEDIA_PART = /image|video|audio|file|media|document/i;

/** A data URL, Base64 without a blank in it, or the URL of an image or video. */
export const isMedia = (key: string, text: string): boolean =>
  (VISUAL_URL_KEY.test(key) && /^https?:/i.test(text)) ||
  (MEDIA_KEY.test(key) && (/^data:/i.test(text) || (text.length > 1_024 && /^[A-Za-z0-9+/]{1024}/.test(text))));

/**
 * Visits every string of a value, without recursion, since depth is the sender's choice, and without an allocation per
 * element, since so is width. `key` is the member a string stands in; `url` of an object goes by the name of that object.
 */
export function walkStrings(
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
        const innerKey =
          key === OPAQUE_KEY || (object !== root && isToolArguments(name, object))
            ? OPAQUE_KEY
            : name === 'url'
              ? key
              : name;
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

export const isToolArguments = (name: string, { type, name: func }: UntrustedObject): boolean =>
  (name === 'input' && (type === 'tool_use' || type === 'server_tool_use')) ||
  ((name === 'args' || name === 'response') && type === undefined && typeof func === 'string');
