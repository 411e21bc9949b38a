const PAGE_BY_TARGET: Readonly<Record<string, string>> = {
  user: 'users',
  channel: 'channels',
  model: 'models',
  ticket: 'tickets',
  beta_application: 'beta-applications',
  organization: 'organizations',
  'package-card': 'packages',
};

/** Page of an audit entry's target, such as `user:12`; undefined if the target has no page. */
export function auditTargetPath(target: string): string | undefined {
  const at = target.indexOf(':');
  const page = PAGE_BY_TARGET[target.slice(0, Math.max(0, at))];
  return page === undefined
    ? undefined
    : `/admin/${page}/${encodeURIComponent(target.slice(at + 1).replaceAll('/', '~'))}`;
}

type Side = Readonly<Record<string, unknown>>;
const toSide = (value: unknown): Side => (typeof value === 'object' && value !== null ? (value as Side) : {});

/** Names of the fields that differ between both sides of a change. */
export function changedKeys(before: unknown, after: unknown): string[] {
  const [one, two] = [toSide(before), toSide(after)];
  return [...new Set([...Object.keys(one), ...Object.keys(two)])].filter(
    (key) => JSON.stringify(one[key]) !== JSON.stringify(two[key]),
  );
}

const NAME_FIELDS = ['username', 'name', 'title', 'title_en', 'client_name', 'feature', 'email'] as const;

/** The name of a deleted target, as its entry recorded it; undefined if it recorded none. */
export function recordedName(before: unknown, after: unknown): string | undefined {
  const sides = [toSide(after), toSide(before)];
  const names = NAME_FIELDS.flatMap((field) => sides.map((side) => side[field]));
  return names.find((name): name is string => typeof name === 'string' && name !== '');
}

/** A change of one field that fits into a sentence. */
export interface FieldChange {
  readonly field: string;
  /** Undefined: the field was set for the first time, or its values are too long to show. */
  readonly before?: string;
  readonly after?: string;
}

const MAX_VALUE_LENGTH = 40;

/** Changes of an entry, with the values that are short; a creation has none, since all of its fields are new. */
export function toFieldChanges(before: unknown, after: unknown): FieldChange[] {
  const [one, two] = [toSide(before), toSide(after)];
  return changedKeys(before, after).map((field) => {
    const [from, to] = [toShortText(one[field]), toShortText(two[field])];
    if (from === undefined || to === undefined) return { field };
    return from === '' ? { field, after: to } : { field, before: from, after: to };
  });
}

/** A value as text: '' for none, undefined for one too long for a sentence. */
export function toShortText(value: unknown): string | undefined {
  if (value === undefined || value === null) return '';
  const isList = Array.isArray(value) && value.every((each) => typeof each !== 'object');
  if (typeof value === 'object' && !isList) return undefined;
  const text = isList ? value.join(', ') : typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_VALUE_LENGTH ? undefined : text;
}
