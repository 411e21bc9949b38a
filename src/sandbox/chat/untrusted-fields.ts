export type Fields = Readonly<Record<string, unknown>>;

export const asFields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};
export const asFieldList = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(asFields) : []);
