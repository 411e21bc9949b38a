import { chooseCalls, type FunctionCall, type OfferedFunction } from '../chat/choose-calls.ts';
import { exampleForSchema } from '../chat/example-for-json-schema.ts';
import { asFieldList, asFields, type Fields } from '../chat/untrusted-fields.ts';

/** Chat completions nest a function under `function`, responses have its fields beside `type`. */
function toFunction(tool: Fields): OfferedFunction | undefined {
  if (tool.type !== 'function') return undefined;
  const { name, parameters } = tool.function === undefined ? tool : asFields(tool.function);
  return typeof name === 'string' ? { name, parameters } : undefined;
}

/** The calls of the simulated model, by the tools of either API. @param count how many at once @param wanted the name of one */
export function chooseFunctionCalls(body: Fields, count = 1, wanted?: string): readonly FunctionCall[] {
  const hasResult =
    asFieldList(body.messages).some(({ role }) => role === 'tool') ||
    asFieldList(body.input).some(({ type }) => type === 'function_call_output');
  if (hasResult || body.tool_choice === 'none') return [];
  const offered = asFieldList(body.tools)
    .map(toFunction)
    .filter((each) => each !== undefined);
  const choice = asFields(body.tool_choice);
  return chooseCalls(offered, asFields(choice.function).name ?? choice.name ?? wanted, count);
}

/** Structured output: the schema of `response_format` (chat) or `text.format` (responses) becomes a value that fits it. */
export function chooseJson(body: Fields): string | undefined {
  const format =
    body.response_format === undefined ? asFields(asFields(body.text).format) : asFields(body.response_format);
  if (format.type === 'json_object') return '{"city":"Paris"}';
  if (format.type !== 'json_schema') return undefined;
  return JSON.stringify(exampleForSchema(format.schema ?? asFields(format.json_schema).schema));
}
