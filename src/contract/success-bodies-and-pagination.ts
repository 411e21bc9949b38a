import Type, { type TSchema } from 'typebox';

export const PAGE_SIZE_DEFAULT = 20;
export const PAGE_SIZE_MAX = 50;

/** A row id in a path: digits of a positive integer. */
export const IdParam = Type.Object({ id: Type.String({ pattern: '^[1-9][0-9]{0,15}$' }) });

/** `page` and `page_size` of every list, as they arrive: strings. Read them with `toPage`. */
export const PageQuery = {
  page: Type.Optional(Type.String({ maxLength: 16, description: 'From 1; default 1.' })),
  page_size: Type.Optional(Type.String({ maxLength: 16, description: 'Default 20, at most 50.' })),
};

/** `{success: true, message, data}`. */
export const Ok = <S extends TSchema>(data: S) =>
  Type.Object({ success: Type.Literal(true), message: Type.String(), data });

/** `{success: true, message}`. */
export const Done = Type.Object({ success: Type.Literal(true), message: Type.String() });

/** `{success: true, data: […], total}`. */
export const ListOf = <S extends TSchema>(item: S) =>
  Type.Object({ success: Type.Literal(true), data: Type.Array(item), total: Type.Integer() });

export interface Page {
  readonly page: number;
  readonly pageSize: number;
  readonly offset: number;
}

/** Reads page parameters: invalid and out-of-range values fall back to the nearest valid one, so that lists never fail because of them. */
export function toPage(query: { readonly page?: string; readonly page_size?: string }): Page {
  const page = toCount(query.page, 1, 1_000_000);
  const pageSize = toCount(query.page_size, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX);
  return { page, pageSize, offset: (page - 1) * pageSize };
}

function toCount(text: string | undefined, fallback: number, most: number): number {
  if (text === undefined || !/^[0-9]{1,15}$/.test(text)) return fallback;
  const value = Number(text);
  return value < 1 ? fallback : Math.min(value, most);
}

/** Success bodies, defined once and shared. */
export const ok = <T>(data: T, message = ''): { success: true; message: string; data: T } => ({
  success: true,
  message,
  data,
});
export const done = (message = ''): { success: true; message: string } => ({ success: true, message });
export const list = <T>(data: T[], total: number): { success: true; data: T[]; total: number } => ({
  success: true,
  data,
  total,
});
