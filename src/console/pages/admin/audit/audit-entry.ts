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

/** Ids and bookkeeping of rows, and what the entry's own target and time say already. */
const HIDDEN_FIELDS: ReadonlySet<string> = new Set([
  'id',
  'created_at',
  'updated_at',
  'reply',
  'session',
  'secret',
  'invitation',
  'transfer',
  'related_id',
  'is_read',
  'for_admin',
  'awaits_staff',
  'entry_count',
  'reply_count',
  'system_builtin',
  'topic',
  'algorithm',
  'checksum',
  'announcement.type',
  'share.task',
]);

const EMPTY_TEXTS: ReadonlySet<string> = new Set(['""', 'null', '[]', '{}', '"[]"', '"{}"']);
/** Besides: what an object that is created or deleted does not have. */
const ABSENT_TEXTS: ReadonlySet<string> = new Set(['0', 'false']);

/** An entry of the audit log, as far as it says what changed. */
export interface AuditedChange {
  readonly action: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** The subject of an action such as `user.update`. */
export const kindOf = (action: string): string => action.slice(0, action.indexOf('.'));

/** Names of the fields that differ between both sides of a change. */
export function changedFields({ action, before, after }: AuditedChange): string[] {
  const [one, two] = [toSide(before), toSide(after)];
  const isWhole = /\.(create|delete)$/.test(action);
  const toText = (value: unknown): string => {
    const text = JSON.stringify(value ?? null);
    return EMPTY_TEXTS.has(text) || (isWhole && ABSENT_TEXTS.has(text)) ? '' : text;
  };
  const kind = kindOf(action);
  return [...new Set([...Object.keys(one), ...Object.keys(two)])].filter(
    (field) =>
      !HIDDEN_FIELDS.has(field) && !HIDDEN_FIELDS.has(`${kind}.${field}`) && toText(one[field]) !== toText(two[field]),
  );
}

const NAME_FIELDS = ['name', 'title', 'title_en', 'client_name', 'feature'] as const;
/** Entries about accounts and organizations also name passkeys, addresses and devices of theirs. */
const OWN_NAME_FIELDS: Readonly<Record<string, readonly string[]>> = {
  user: ['username'],
  organization: ['name'],
  webhook: ['description', 'url'],
};

/** The name of a deleted target, as its entry recorded it; undefined if it recorded none. */
export function recordedName(kind: string, before: unknown, after: unknown): string | undefined {
  const sides = [toSide(after), toSide(before)];
  const fields: readonly string[] = OWN_NAME_FIELDS[kind] ?? NAME_FIELDS;
  const names = fields.flatMap((field) => sides.map((side) => side[field]));
  const name = names.find((each): each is string => typeof each === 'string' && each !== '');
  return name?.includes('://') ? URL.parse(name)?.host : name;
}

/** A changed field with its values; undefined where a side does not have it. */
export interface FieldChange {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** What an entry changed, field by field. */
export const toFieldChanges = (entry: AuditedChange): FieldChange[] =>
  changedFields(entry).map((field) => ({
    field,
    before: toSide(entry.before)[field],
    after: toSide(entry.after)[field],
  }));

/** Fields that name accounts by their id. */
export const ACCOUNT_FIELDS = ['user', 'user_id', 'issued_by', 'decided_by', 'from', 'to'] as const;

/** Accounts that the values of an entry name. */
export const accountsIn = ({ before, after }: Pick<AuditedChange, 'before' | 'after'>): number[] =>
  [toSide(before), toSide(after)].flatMap((side) =>
    ACCOUNT_FIELDS.map((field) => side[field]).filter((id): id is number => typeof id === 'number' && id > 0),
  );

/** Entries name some fields as the database does, others as the code does: `expires_at`, `expiresAt`. */
export const toSnakeCase = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Whether a field is a setting of the site. */
export const isSetting = (field: string): boolean => /^[A-Z][A-Z0-9_]+$/.test(field);
