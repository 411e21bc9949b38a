import { sampleOf } from './json-sample.ts';

type Body = Readonly<Record<string, unknown>>;

/** One function the caller offered, whichever of the two APIs it was offered by. */
interface OfferedFunction {
  readonly name: string;
  readonly parameters: unknown;
}

const asBody = (value: unknown): Body => (typeof value === 'object' && value !== null ? (value as Body) : {});
const asList = (value: unknown): readonly Body[] => (Array.isArray(value) ? value.map(asBody) : []);

/** Chat completions nest a function under `function`, responses have its fields beside `type`. */
function toFunction(tool: Body): OfferedFunction | undefined {
  if (tool.type !== 'function') return undefined;
  const { name, parameters } = tool.function === undefined ? tool : asBody(tool.function);
  return typeof name === 'string' ? { name, parameters } : undefined;
}

export interface FunctionCall {
  readonly name: string;
  /** JSON text that fits the parameters' schema. */
  readonly arguments: string;
}

/**
 * The call the simulated model makes: the function that `tool_choice` names, else the first one offered. None once the
 * conversation holds a result, so that every tool loop ends after one turn.
 */
export function chooseFunctionCall(body: Body): FunctionCall | undefined {
  const hasResult =
    asList(body.messages).some(({ role }) => role === 'tool') ||
    asList(body.input).some(({ type }) => type === 'function_call_output');
  if (hasResult || body.tool_choice === 'none') return undefined;
  const offered = asList(body.tools)
    .map(toFunction)
    .filter((each) => each !== undefined);
  const choice = asBody(body.tool_choice);
  const wanted = asBody(choice.function).name ?? choice.name;
  const called = offered.find(({ name }) => name === wanted) ?? offered[0];
  return called && { name: called.name, arguments: JSON.stringify(sampleOf(called.parameters)) };
}

/** Structured output: the schema of `response_format` (chat) or `text.format` (responses) becomes a value that fits it. */
export function chooseJson(body: Body): string | undefined {
  const format = body.response_format === undefined ? asBody(asBody(body.text).format) : asBody(body.response_format);
  if (format.type === 'json_object') return '{"city":"Paris"}';
  if (format.type !== 'json_schema') return undefined;
  return JSON.stringify(sampleOf(format.schema ?? asBody(format.json_schema).schema));
}
