import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import type { DroppedFields } from './dropped-fields.ts';
import type { Conversation, OutputFormat, Reasoning } from './neutral-form.ts';
import { notExpressibleError } from './not-expressible-error.ts';
import { readInput } from './openai-responses-input-reader.ts';
import { readToolChoice, readTools } from './openai-responses-tools.ts';
import { checkMembers, fieldTable, numberAt, objectAt, textAt } from './read-request-fields.ts';
import { splitLeadingSystemMessages } from './split-leading-system-messages.ts';

const MEMBERS = fieldTable(
  'model input instructions max_output_tokens stream temperature top_p top_logprobs tools tool_choice parallel_tool_calls ' +
    'text reasoning store truncation background',
);
const TEXT_MEMBERS = fieldTable('format');
const REASONING_MEMBERS = fieldTable('effort');

/** Reads a request of OpenAI's Responses (platform.openai.com/docs/api-reference/responses/create). @throws AppError `invalid_request` */
export function readResponsesRequest(body: UntrustedObject, notes: DroppedFields): Conversation {
  checkMembers(body, MEMBERS, notes);
  // Nothing is stored here, so nothing could be found again.
  if (body.store === true) throw notExpressibleError('store');
  if (body.store === false) notes.drop('store');
  if (typeof body.top_logprobs === 'number' && body.top_logprobs > 0) throw notExpressibleError('top_logprobs');
  if (body.truncation === 'auto') notes.drop('truncation');
  const text = asObject(body.text) ?? {};
  checkMembers(text, TEXT_MEMBERS, notes, 'text.');
  const { instructions, parallel_tool_calls: parallel } = body;
  const { system, messages } = splitLeadingSystemMessages(readInput(body.input, notes));
  const said = instructions === undefined || instructions === null ? '' : textAt(instructions, 'instructions');
  return {
    system: said === '' ? system : [{ type: 'text', text: said }, ...system],
    messages,
    paths: { system: said === '' ? 'input.0.role' : 'instructions', turns: 'input' },
    tools: readTools(body.tools, notes),
    toolChoice: readToolChoice(body.tool_choice),
    parallelCalls: typeof parallel === 'boolean' ? { value: parallel, path: 'parallel_tool_calls' } : undefined,
    format: readFormat(text.format),
    reasoning: readReasoning(asObject(body.reasoning), notes),
    settings: { temperature: numberAt(body, 'temperature'), topP: numberAt(body, 'top_p') },
  };
}

function readFormat(value: unknown): OutputFormat | undefined {
  if (value === undefined || value === null) return undefined;
  const path = 'text.format';
  const { type, schema, name, strict } = objectAt(value, path);
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type: 'json', path };
  if (type !== 'json_schema') throw notExpressibleError(`${path}.type`);
  return {
    type: 'schema',
    schema,
    name: typeof name === 'string' ? name : undefined,
    strict: typeof strict === 'boolean' ? strict : undefined,
    path,
  };
}

function readReasoning(reasoning: UntrustedObject | undefined, notes: DroppedFields): Reasoning | undefined {
  if (reasoning === undefined) return undefined;
  checkMembers(reasoning, REASONING_MEMBERS, notes, 'reasoning.');
  const { effort } = reasoning;
  const path = 'reasoning.effort';
  if (typeof effort !== 'string') return undefined;
  return effort === 'none' ? { mode: 'off', path } : { mode: 'on', effort, path };
}
