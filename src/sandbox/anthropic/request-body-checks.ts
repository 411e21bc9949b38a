import { asFieldList, asFields, type Fields } from '../chat/untrusted-fields.ts';
import { checkMessages } from './message-checks.ts';

/** Members of a request; any other is an error (docs.claude.com/en/api/messages, and the betas Claude Code asks for). */
const MEMBERS: ReadonlySet<string> = new Set(
  (
    'model messages max_tokens stream system temperature top_p top_k stop_sequences tools tool_choice thinking metadata ' +
    'service_tier output_config cache_control container context_management inference_geo speed'
  ).split(' '),
);
const CHOICES: ReadonlySet<unknown> = new Set(['auto', 'any', 'tool', 'none']);
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const MAX_CACHE_MARKERS = 4;

const isPositiveInteger = (value: unknown): boolean => Number.isInteger(value) && Number(value) > 0;
const isUnitIntervalOrAbsent = (value: unknown): boolean =>
  value === undefined || (Number(value) >= 0 && Number(value) <= 1);

/** What Anthropic would refuse of a request, in its words; undefined for a correct one. @param counts whether the request only counts tokens */
export function findFault(body: Fields, counts: boolean): string | undefined {
  const unknown = Object.keys(body).find((key) => !MEMBERS.has(key));
  if (unknown !== undefined) return `${unknown}: Extra inputs are not permitted`;
  if (!counts && !isPositiveInteger(body.max_tokens)) return 'max_tokens: Field required';
  if (!isUnitIntervalOrAbsent(body.temperature)) return 'temperature: range: 0..1';
  if (!isUnitIntervalOrAbsent(body.top_p)) return 'top_p: range: 0..1';
  if ((JSON.stringify(body).match(/"cache_control":\{/g) ?? []).length > MAX_CACHE_MARKERS)
    return 'A maximum of 4 blocks with cache_control may be provided.';
  return findSystemFault(body.system) ?? findToolFault(body) ?? findThinkingFault(body) ?? checkMessages(body);
}

function findSystemFault(system: unknown): string | undefined {
  if (system === undefined || typeof system === 'string') return undefined;
  const parts = asFieldList(system);
  const isText = parts.every(({ type, text }) => type === 'text' && typeof text === 'string' && text !== '');
  return parts.length > 0 && isText ? undefined : 'system: text content blocks must be non-empty';
}

function findToolFault({ tools, tool_choice: choice }: Fields): string | undefined {
  const list = asFieldList(tools);
  const names = list.map(({ name }) => name);
  if (new Set(names).size < names.length) return 'tools: Tool names must be unique.';
  for (const [index, { type, name, input_schema: schema }] of list.entries()) {
    if (typeof name !== 'string' || !TOOL_NAME.test(name))
      return `tools.${index}.custom.name: String should match pattern`;
    const isCustom = type === undefined || type === 'custom';
    if (isCustom && asFields(schema).type !== 'object')
      return `tools.${index}.custom.input_schema.type: Field required`;
  }
  if (choice === undefined) return undefined;
  const { type, name } = asFields(choice);
  if (!CHOICES.has(type)) return 'tool_choice: Input tag found does not match any of the expected tags';
  if (list.length === 0) return 'tool_choice: tools must be provided';
  return type === 'tool' && !names.includes(name) ? `Tool '${String(name)}' not found in provided tools` : undefined;
}

function findThinkingFault({
  thinking,
  tool_choice: choice,
  temperature,
  max_tokens: limit,
}: Fields): string | undefined {
  const { type, budget_tokens: budget } = asFields(thinking);
  if (type !== 'enabled' && type !== 'adaptive') return undefined;
  if (type === 'enabled' && !(Number(budget) >= 1_024))
    return 'thinking.enabled.budget_tokens: greater than or equal to 1024';
  if (type === 'enabled' && Number(budget) >= Number(limit))
    return '`max_tokens` must be greater than `thinking.budget_tokens`';
  if (temperature !== undefined && temperature !== 1)
    return '`temperature` may only be set to 1 when thinking is enabled';
  const forced = asFields(choice).type;
  return forced === 'any' || forced === 'tool'
    ? 'Thinking may not be enabled when tool_choice forces tool use.'
    : undefined;
}
