import { createHash } from 'node:crypto';
import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { tryParse } from '../try-parse-json.ts';
import type { DroppedFields } from './dropped-fields.ts';
import type { FunctionTool, ToolChoice, ToolOrigin } from './neutral-form.ts';
import { notExpressibleError } from './not-expressible-error.ts';
import { dropOthers, fieldSet, listAt, objectAt, strictAt, textAt } from './read-request-fields.ts';

const FUNCTION_MEMBERS = fieldSet('type name description parameters strict');
const CUSTOM_MEMBERS = fieldSet('type name description format');
/** Characters of a function's name, by the rules of all vendors. */
const MAX_NAME_LENGTH = 64;
const HASH_LENGTH = 8;
/** What a tool of free text takes where there are only functions. */
const FREEFORM_PARAMETERS = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as it is.' } },
  required: ['input'],
  additionalProperties: false,
};

/** The name of a function by which upstreams without namespaces know a tool of one. */
export function namespacedName(namespace: string | undefined, name: string): string {
  if (namespace === undefined) return name;
  const joined = `${namespace}__${name}`;
  if (joined.length <= MAX_NAME_LENGTH) return joined;
  const hash = createHash('sha256').update(joined).digest('hex').slice(0, HASH_LENGTH);
  return `${joined.slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}

/** The tools of OpenAI's Responses as functions. @throws AppError `invalid_request` for those that are run by the upstream */
export function readTools(tools: unknown, notes: DroppedFields): FunctionTool[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((value, index) => {
    const path = `tools.${index}`;
    const tool = objectAt(value, path);
    if (tool.type === 'namespace') {
      const namespace = textAt(tool.name, `${path}.name`);
      return listAt(tool.tools, `${path}.tools`).flatMap((inner, at) =>
        readTool(objectAt(inner, `${path}.tools.${at}`), `${path}.tools.${at}`, notes, namespace),
      );
    }
    return readTool(tool, path, notes, undefined);
  });
}

function readTool(
  tool: UntrustedObject,
  path: string,
  notes: DroppedFields,
  namespace: string | undefined,
): FunctionTool[] {
  // All tools are offered at once, so there is nothing to search for.
  if (tool.type === 'tool_search') {
    notes.drop(path);
    return [];
  }
  if (tool.type !== 'function' && tool.type !== 'custom') throw notExpressibleError(`${path}.type`);
  const isFreeform = tool.type === 'custom';
  dropOthers(tool, isFreeform ? CUSTOM_MEMBERS : FUNCTION_MEMBERS, notes, path);
  const name = textAt(tool.name, `${path}.name`);
  const description = typeof tool.description === 'string' ? tool.description : undefined;
  const origin = isFreeform || namespace !== undefined ? { isFreeform, namespace, name } : undefined;
  const named = { name: namespacedName(namespace, name), origin };
  if (isFreeform)
    return [
      {
        ...named,
        description: describeFormat(description, asObject(tool.format), `${path}.format`, notes),
        parameters: FREEFORM_PARAMETERS,
        strict: undefined,
      },
    ];
  return [
    {
      ...named,
      description,
      parameters: asObject(tool.parameters) ?? { type: 'object', properties: {} },
      // Where the other dialects say nothing, this one says false.
      strict: tool.strict === true ? strictAt(tool, path) : undefined,
    },
  ];
}

/** A grammar that the upstream does not enforce is told to the model in words. */
function describeFormat(
  description: string | undefined,
  format: UntrustedObject | undefined,
  path: string,
  notes: DroppedFields,
): string | undefined {
  if (format === undefined || format.type !== 'grammar') return description;
  notes.drop(path);
  const { syntax, definition } = format;
  const grammar = `The input follows this grammar (${String(syntax)}):\n${textAt(definition, `${path}.definition`)}`;
  return description === undefined ? grammar : `${description}\n\n${grammar}`;
}

/** @throws AppError `invalid_request` */
export function readToolChoice(choice: unknown): ToolChoice | undefined {
  const path = 'tool_choice';
  if (choice === undefined || choice === null) return undefined;
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { mode: choice, path };
  if (choice === 'any') return { mode: 'required', path };
  const { type, name, namespace } = objectAt(choice, path);
  if (type !== 'function' && type !== 'custom') throw notExpressibleError(`${path}.type`);
  const space = typeof namespace === 'string' ? namespace : undefined;
  return { mode: 'required', name: namespacedName(space, textAt(name, `${path}.name`)), path };
}

/** The arguments of a function that stands for a tool of free text. */
export const toFreeformArguments = (input: string): string => JSON.stringify({ input });

/** The text among such arguments; a model that did not keep to their form is quoted as it is. */
export function readFreeformArguments(args: string): string {
  const input = asObject(tryParse(args))?.input;
  return typeof input === 'string' ? input : args;
}

/** A call as its caller knows the tool, without its input. */
export function toCallItem(origin: ToolOrigin | undefined, name: string): object {
  const type = origin?.isFreeform === true ? 'custom_tool_call' : 'function_call';
  return { type, name: origin?.name ?? name, namespace: origin?.namespace };
}
