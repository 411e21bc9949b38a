import { asFieldList, asFields, type Fields } from '../chat/untrusted-fields.ts';
import { NO_SIGNATURE, SIGNATURE } from './thought-signature-constants.ts';

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));
const MEMBERS = words(
  'contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent labels',
);
const CONFIG_MEMBERS = words(
  'maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty stopSequences candidateCount responseMimeType ' +
    'responseSchema responseJsonSchema responseModalities thinkingConfig mediaResolution',
);
const PART_MEMBERS = words('text thought thoughtSignature functionCall functionResponse inlineData');
const MODES: ReadonlySet<unknown> = new Set(['AUTO', 'ANY', 'NONE', 'VALIDATED']);
const MAX_STOPS = 5;

const unknownMember = (object: Fields, known: ReadonlySet<string>): string | undefined =>
  Object.keys(object).find((key) => !known.has(key));

/** What Google would refuse of a request, in its words; undefined for a correct one. */
export function findFault(body: Fields): string | undefined {
  const unknown = unknownMember(body, MEMBERS) ?? unknownMember(asFields(body.generationConfig), CONFIG_MEMBERS);
  if (unknown !== undefined) return `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`;
  const stops = asFields(body.generationConfig).stopSequences;
  if (Array.isArray(stops) && stops.length > MAX_STOPS) return 'The number of stop sequences exceeds 5';
  const choice = asFields(asFields(body.toolConfig).functionCallingConfig);
  if (choice.mode !== undefined && !MODES.has(choice.mode)) return 'Invalid value at tool_config.mode';
  if (choice.allowedFunctionNames !== undefined && choice.mode !== 'ANY')
    return 'allowed_function_names is set without ANY mode';
  return checkContents(asFieldList(body.contents));
}

function checkContents(contents: readonly Fields[]): string | undefined {
  if (contents.length === 0) return 'contents is not specified';
  for (const [index, { role, parts }] of contents.entries()) {
    if (role !== undefined && role !== 'user' && role !== 'model') return 'Please use a valid role: user, model.';
    const list = asFieldList(parts);
    if (list.length === 0) return `contents[${index}].parts: must not be empty`;
    const fault = list.map(checkPart).find((each) => each !== undefined);
    if (fault !== undefined) return `contents[${index}]: ${fault}`;
    const calls = list.filter(({ functionCall }) => functionCall !== undefined).length;
    const results = asFieldList(contents[index + 1]?.parts).filter(
      ({ functionResponse }) => functionResponse !== undefined,
    ).length;
    if (calls > 0 && calls !== results)
      return 'Please ensure that the number of function response parts is equal to the number of function call parts';
  }
  return undefined;
}

function checkPart(part: Fields): string | undefined {
  const unknown = unknownMember(part, PART_MEMBERS);
  if (unknown !== undefined) return `Unknown name "${unknown}"`;
  const { thoughtSignature: signature } = part;
  if (signature !== undefined && signature !== SIGNATURE && signature !== NO_SIGNATURE)
    return 'Thought signature is not valid';
  if (part.functionCall !== undefined && typeof asFields(part.functionCall).name !== 'string')
    return 'function_call.name: required';
  if (part.functionResponse !== undefined && typeof asFields(part.functionResponse).response !== 'object')
    return 'function_response.response: required';
  const kinds = ['text', 'functionCall', 'functionResponse', 'inlineData'].filter((kind) => part[kind] !== undefined);
  return kinds.length === 1 ? undefined : 'required oneof field data must have one initialized field';
}
