import Type, { type Static } from 'typebox';
import { SPEND_PERIODS } from './amounts.ts';
import type { Localized } from './messages/format-message.ts';
import { toSeconds } from './time-units.ts';

/** Roles of accounts, in ascending rank. `root` is the role of the first account. */
export const ROLES = ['user', 'admin', 'root'] as const;
/** Role of an account. */
export type Role = (typeof ROLES)[number];

/** Whether the first role ranks above the second. */
export const outranks = (one: Role, other: Role): boolean => ROLES.indexOf(one) > ROLES.indexOf(other);

/**
 * The only rule for who may create or change an account and its resources: actors manage lower ranks only, `root`
 * manages every rank. Applies to both the account's current role and its new one.
 */
export const canManage = (actor: Role, role: Role): boolean => actor === 'root' || outranks(actor, role);

/**
 * Text shown next to text of other users: excludes control characters, line breaks and direction overrides, which could
 * disguise it.
 */
export const PLAIN_TEXT_PATTERN = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]*$';

const USERNAME_PATTERN = '^[a-z0-9_-]{3,30}$';
export const Username = Type.String({ pattern: USERNAME_PATTERN, description: '3 to 30 of a-z 0-9 _ -' });
/** Explains the format of a form field to the person filling it in; a regular expression would not. */
export const FORM_MESSAGES: Readonly<Record<string, Localized>> = {
  [USERNAME_PATTERN]: {
    en: 'must have 3 to 30 characters: a to z, 0 to 9, _ and -',
    'zh-CN': '须为 3 至 30 个字符，只能包含小写字母、数字、_ 和 -',
  },
};
/** Password length in code points. */
export const PASSWORD_LENGTH = { min: 8, max: 128 } as const;
export const Password = Type.String({
  minLength: PASSWORD_LENGTH.min,
  maxLength: PASSWORD_LENGTH.max,
  description: '8 to 128 characters',
});
export const DisplayName = Type.String({ minLength: 1, maxLength: 60, pattern: PLAIN_TEXT_PATTERN });
const EMAIL = '[^@\\s\\u0000-\\u001f\\u007f]{1,64}@[^@\\s\\u0000-\\u001f\\u007f]{1,190}';
export const Email = Type.String({ maxLength: 254, pattern: `^${EMAIL}$` });
/** An empty value removes the e-mail. */
export const EmailOrNone = Type.String({ maxLength: 254, pattern: `^(?:${EMAIL})?$` });
export const RoleName = Type.Enum([...ROLES]);
/** Status of an account. */
export const ENABLED = 1;
export const DISABLED = 2;
/** An organization that an owner or administrator closed; it can be restored until it is deleted. */
export const CLOSED = 3;
/** 1 enabled, 2 disabled. */
export const Status = Type.Union([Type.Literal(ENABLED), Type.Literal(DISABLED)]);
export const Code = Type.String({ minLength: 1, maxLength: 64, description: 'a TOTP code or a backup code' });
export const Quota = Type.Integer({ minimum: 0, maximum: 1e15 });
/** A hard limit: reservations count as soon as they are made. */
export const SpendLimit = Type.Object(
  {
    amount: Type.Integer({ minimum: 1, maximum: 1e15, description: 'Quota.' }),
    period: Type.Enum([...SPEND_PERIODS], { description: 'Weeks start on Monday, in the time zone of the site.' }),
  },
  { additionalProperties: false },
);
/** A spend limit and how much of it has been spent. */
export const SpendLimitState = Type.Object({
  ...SpendLimit.properties,
  spent: Type.Integer({ description: 'in this period, running work included' }),
  renews_at: Type.Integer({ description: 'Unix seconds' }),
});
/** A limit as the API shows it. @param state its times are Unix milliseconds */
export const toSpendLimitState = (
  state: (Static<typeof SpendLimit> & { readonly spent: number; readonly renewsAt: number }) | undefined,
): Static<typeof SpendLimitState> | null =>
  state === undefined
    ? null
    : { amount: state.amount, period: state.period, spent: state.spent, renews_at: toSeconds(state.renewsAt) };
export const NullableSpendState = Type.Union([SpendLimitState, Type.Null()], { description: 'null: none' });
/** Sets or, with null, removes a spend limit; absent keeps it. */
export const SpendLimitChange = Type.Optional(Type.Union([SpendLimit, Type.Null()], { description: 'null: none' }));
export const Note = Type.String({ maxLength: 500, pattern: PLAIN_TEXT_PATTERN });
export const Phone = Type.String({ pattern: '^\\+[1-9][0-9]{6,14}$', description: 'E.164, such as +4915112345678' });
/** Unix seconds. */
export const Time = Type.Integer();
/** Unix seconds; null: never. */
export const TimeOrNull = Type.Union([Type.Integer(), Type.Null()]);
/** The fragment of an e-mailed link (after `#`), which browsers do not send to servers. */
export const LinkToken = Type.String({ minLength: 1, maxLength: 200, description: 'the part of the link after #' });
