import type { EndpointPart } from '../../../../contract/endpoint.ts';
import type { ModelKind } from '../../../../contract/model-kinds.ts';
import type { adminCreateModel, OnRetirement } from '../../../../contract/models.ts';
import type { Model } from '../../../data/admin.ts';
import { type AnyPrice, type PriceFormValues, toPrice, toPriceFormValues } from './price-form-values.ts';

type ModelBody = EndpointPart<typeof adminCreateModel, 'body'>;

/** Form values of a model. */
export interface ModelFormValues {
  readonly id: string;
  readonly vendor: string;
  readonly kind: ModelKind;
  /** Empty: the upstream knows the model by the same name. */
  readonly aliasOf: string;
  /** An alias can use the price of its target. */
  readonly ownPrice: boolean;
  readonly price: PriceFormValues;
  readonly schema: string;
  readonly onRetirement: OnRetirement;
  readonly enabled: boolean;
}

/** Initial values of a new model. @param perUnit quota per credit */
export const newModelFormValues = (vendor: string, perUnit: number): ModelFormValues => ({
  id: '',
  vendor,
  kind: 'video',
  aliasOf: '',
  ownPrice: true,
  price: toPriceFormValues({ per_second: Math.round(perUnit / 10) }, perUnit),
  schema: '',
  onRetirement: 'refuse',
  enabled: true,
});

/** Form values of an existing model. @param perUnit quota per credit */
export const toModelFormValues = (model: Model, perUnit: number): ModelFormValues => ({
  id: model.id,
  vendor: model.vendor,
  kind: model.kind as ModelKind,
  aliasOf: model.alias_of ?? '',
  ownPrice: model.price !== null,
  price: toPriceFormValues(model.price as AnyPrice | null, perUnit),
  schema: model.input_schema == null ? '' : JSON.stringify(model.input_schema, null, 2),
  onRetirement: model.on_retirement as OnRetirement,
  enabled: model.enabled,
});

/** Converts form values to a request body; requires a schema that has already been parsed without error. */
export function toModelBody(draft: ModelFormValues, perUnit: number) {
  const schema = parseMediaSchema(draft.schema);
  const inherits = draft.aliasOf !== '' && !draft.ownPrice;
  return {
    id: draft.id.trim(),
    vendor: draft.vendor as ModelBody['vendor'],
    kind: draft.kind,
    alias_of: draft.aliasOf,
    price: inherits ? null : { ...toPrice(draft.price, draft.kind, perUnit) },
    input_schema: schema.ok ? schema.schema : null,
    on_retirement: draft.onRetirement,
    enabled: draft.enabled,
  };
}

type ParsedMediaSchema =
  | { readonly ok: true; readonly schema: Record<string, unknown> | null; readonly names: readonly string[] }
  | { readonly ok: false; readonly line: number | undefined; readonly what: string };

/**
 * Parses a schema typed as JSON; empty text means no schema. `line`: line of the syntax error, undefined for valid JSON
 * that is not an object.
 */
export function parseMediaSchema(text: string): ParsedMediaSchema {
  if (text.trim() === '') return { ok: true, schema: null, names: [] };
  try {
    const schema: unknown = JSON.parse(text);
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
      return { ok: false, line: undefined, what: '' };
    const { properties } = schema as { readonly properties?: unknown };
    const names = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
    return { ok: true, schema: schema as Record<string, unknown>, names };
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return { ok: false, line: findErrorLine(what, text), what };
  }
}

/** Number of characters V8 quotes on each side of an unexpected token. */
const QUOTED_CHARACTERS = 10;

/**
 * Line of a syntax error. JavaScript engines report it differently: a line, a position, an excerpt, or only an
 * unexpected end.
 */
function findErrorLine(what: string, text: string): number {
  const line = /line (\d+)/.exec(what)?.[1];
  if (line !== undefined) return Number(line);
  const position = /position (\d+)/.exec(what)?.[1];
  const piece = /\.\.\."(.*)"(?:\.\.\.)? is not valid JSON$/s.exec(what)?.[1];
  const end =
    position !== undefined
      ? Number(position)
      : piece !== undefined
        ? text.indexOf(piece) + QUOTED_CHARACTERS
        : text.length;
  return text.slice(0, end).split('\n').length;
}
