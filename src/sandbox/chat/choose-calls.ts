import { exampleForSchema } from './example-for-json-schema.ts';

/** One function the caller offered, whichever API it was offered by. */
export interface OfferedFunction {
  readonly name: string;
  /** JSON Schema. */
  readonly parameters: unknown;
}

export interface FunctionCall {
  readonly name: string;
  /** JSON text that fits the parameters' schema. */
  readonly arguments: string;
}

/**
 * The calls the simulated model makes: of the function that is wanted by name, else of the first ones offered. The caller of this asks for
 * none once the conversation holds a result, so that every tool loop ends after one turn.
 *
 * @param count how many at once
 */
export function chooseCalls(
  offered: readonly OfferedFunction[],
  wanted: unknown,
  count: number,
): readonly FunctionCall[] {
  const named = offered.find(({ name }) => name === wanted);
  const called = named === undefined ? offered.slice(0, count) : [named];
  return called.map(({ name, parameters }) => ({ name, arguments: JSON.stringify(exampleForSchema(parameters)) }));
}
