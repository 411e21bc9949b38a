import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import { cutText, type TextInBytes } from './long-text.ts';
import { containersOf } from './parse-untrusted-json.ts';

/** Characters of a long text that its field keeps: enough to see what it is, and so few that storing it cuts no more. */
const KEPT_LENGTH = 960;

/** Long texts of a body that were left in its bytes, by their field: `image`, `images.0`, `input_reference.image_url`. */
export type KeptLongTexts = ReadonlyMap<string, TextInBytes>;

export const NO_LONG_TEXTS: KeptLongTexts = new Map();

/**
 * Puts long texts into a body that was parsed without them. Those of `fields` of the root, or directly inside one, stay bytes; the body gets
 * their first characters.
 *
 * @param textOf the text a value stands for; undefined for any other value
 */
export function keepLongTexts(
  root: unknown,
  fields: readonly string[],
  textOf: (value: unknown) => TextInBytes | undefined,
): KeptLongTexts {
  const kept = new Map<string, TextInBytes>();
  const keep = (holder: Record<string, unknown>, key: string, path: string): void => {
    const text = textOf(holder[key]);
    if (text === undefined) return;
    kept.set(path, text);
    holder[key] = cutText(text.slice(0, KEPT_LENGTH), text.length);
  };
  const object = asObject(root) as Record<string, unknown> | undefined;
  for (const field of object === undefined ? [] : fields.filter((name) => Object.hasOwn(object, name))) {
    keep(object as Record<string, unknown>, field, field);
    const inner = object?.[field];
    if (typeof inner !== 'object' || inner === null) continue;
    for (const key of Object.keys(inner)) keep(inner as Record<string, unknown>, key, `${field}.${key}`);
  }
  for (const holder of containersOf(root) as Iterable<Record<string, unknown>>)
    for (const key of Object.keys(holder)) {
      const text = textOf(holder[key]);
      if (text !== undefined) holder[key] = text.toString();
    }
  return kept;
}

/**
 * A body with the whole texts where they were cut; what holds them is copied.
 *
 * @param form of such a text; default: a string
 */
export function withLongTexts(
  body: UntrustedObject,
  kept: KeptLongTexts,
  form: (text: TextInBytes, path: string) => unknown = String,
): UntrustedObject {
  const whole: Record<string, unknown> = { ...body };
  for (const [path, text] of kept) {
    // The fields have no dots, the names inside them may have some: what follows the first dot is one name.
    const dot = path.indexOf('.');
    if (dot < 0) whole[path] = form(text, path);
    else {
      const field = path.slice(0, dot);
      const key = path.slice(dot + 1);
      const inner = whole[field] as Record<string, unknown> | unknown[];
      whole[field] = Object.assign(Array.isArray(inner) ? [...inner] : { ...inner }, { [key]: form(text, path) });
    }
  }
  return whole;
}
