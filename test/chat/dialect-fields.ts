import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  GEMINI_DIALECT,
  RESPONSES_DIALECT,
} from '../../src/server/chat/dialects.ts';

type Body = Readonly<Record<string, unknown>>;

/** A request with one field, and the same request without it. */
export interface FieldSample {
  readonly field: string;
  readonly body: Body;
  readonly without: Body;
}

/** A caller dialect with a sample of each of its fields. */
export interface SampledDialect {
  readonly title: string;
  readonly dialect: Dialect;
  readonly samples: readonly FieldSample[];
}

const PNG = 'iVBORw0KGgo=';
const PNG_URL = `data:image/png;base64,${PNG}`;
const PDF_URL = `data:application/pdf;base64,${PNG}`;
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };
const CACHE = { type: 'ephemeral' };

/** Samples of top-level fields, each merged into `base` together with the fields it requires (`beside`). */
const members = (
  base: Body,
  fields: readonly (readonly [field: string, members: Body, beside?: Body])[],
): FieldSample[] =>
  fields.map(([field, more, beside = {}]) => ({
    field,
    body: { ...base, ...beside, ...more },
    without: { ...base, ...beside },
  }));

const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const chatTool = { type: 'function', function: { name: 'f', description: 'does it', parameters: SCHEMA } };
const chatCall = { id: 'a', type: 'function', function: { name: 'f', arguments: '{"city":"Paris"}' } };
const chatTools = { tools: [chatTool] };
const chatMessages = (...messages: readonly object[]): Body => ({ messages: [...chat.messages, ...messages] });
const chatPart = (part: object): Body => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }, part] }],
});

const CHAT_SAMPLES = members(chat, [
  ['messages: system, developer', { messages: [{ role: 'developer', content: 'Be brief.' }, ...chat.messages] }],
  ['messages: system between turns', chatMessages({ role: 'system', content: 'Be brief.' }, ...chat.messages)],
  ['messages[].name', { messages: [{ role: 'user', content: 'hi', name: 'ann' }] }],
  ['content: image_url, Base64', chatPart({ type: 'image_url', image_url: { url: PNG_URL } })],
  ['content: image_url, URL', chatPart({ type: 'image_url', image_url: { url: 'https://a.example/a.png' } })],
  [
    'content: image_url.detail',
    chatPart({ type: 'image_url', image_url: { url: PNG_URL, detail: 'low' } }),
    chatPart({ type: 'image_url', image_url: { url: PNG_URL } }),
  ],
  ['content: file', chatPart({ type: 'file', file: { filename: 'a.pdf', file_data: PDF_URL } })],
  ['content: input_audio', chatPart({ type: 'input_audio', input_audio: { data: PNG, format: 'wav' } })],
  [
    'content: cache_control',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control: CACHE }] }] },
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] },
  ],
  [
    'tool_calls, role: tool',
    chatMessages({ role: 'assistant', tool_calls: [chatCall] }, { role: 'tool', tool_call_id: 'a', content: 'sunny' }),
  ],
  [
    'reasoning_content',
    chatMessages({ role: 'assistant', content: 'a', reasoning_content: 'hm' }),
    chatMessages({ role: 'assistant', content: 'a' }),
  ],
  [
    'reasoning_details, signed by Claude',
    chatMessages({
      role: 'assistant',
      content: 'a',
      reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 'reelgate-anthropic:sig' }],
    }),
    chatMessages({ role: 'assistant', content: 'a' }),
  ],
  [
    'annotations',
    chatMessages({ role: 'assistant', content: 'a', annotations: [{ type: 'url_citation' }] }),
    chatMessages({ role: 'assistant', content: 'a' }),
  ],
  ['max_completion_tokens, max_tokens', { max_completion_tokens: 77 }],
  ['temperature', { temperature: 0.5 }],
  ['temperature above 1', { temperature: 1.5 }],
  ['top_p', { top_p: 0.5 }],
  ['stop', { stop: ['END'] }],
  ['seed', { seed: 1 }],
  ['presence_penalty', { presence_penalty: 1 }],
  ['frequency_penalty', { frequency_penalty: 1 }],
  ['logit_bias', { logit_bias: { 1: 2 } }],
  ['logprobs', { logprobs: true }],
  ['n', { n: 2 }],
  ['tools: function', chatTools],
  ['tools: custom', { tools: [{ type: 'custom', custom: { name: 'f' } }] }],
  ['tools: web_search', { tools: [{ type: 'web_search' }] }],
  [
    'tools[].function.strict',
    { tools: [{ type: 'function', function: { ...chatTool.function, strict: true } }] },
    chatTools,
  ],
  ['tool_choice: auto, none, required', { tool_choice: 'required' }, chatTools],
  ['tool_choice: one function', { tool_choice: { type: 'function', function: { name: 'f' } } }, chatTools],
  [
    'tool_choice: allowed_tools',
    { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [chatTool] } } },
    chatTools,
  ],
  ['parallel_tool_calls: false', { parallel_tool_calls: false }, chatTools],
  ['response_format: json_object', { response_format: { type: 'json_object' } }],
  [
    'response_format: json_schema',
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: SCHEMA } } },
  ],
  ['reasoning_effort', { reasoning_effort: 'high' }],
  ['verbosity', { verbosity: 'low' }],
  ['modalities: audio', { modalities: ['text', 'audio'] }],
  ['prediction', { prediction: { type: 'content', content: 'x' } }],
  ['store: false', { store: false }],
  ['store: true', { store: true }],
  ['metadata', { metadata: { a: 'b' } }],
  ['user, safety_identifier', { user: 'u' }],
  ['prompt_cache_key', { prompt_cache_key: 'k' }],
  ['service_tier: auto, default, flex', { service_tier: 'auto' }],
  ['service_tier: priority', { service_tier: 'priority' }],
  ['web_search_options', { web_search_options: { search_context_size: 'low' } }],
]);

const responses = { model: 'm', input: [{ role: 'user', content: 'hi' }] };
const responsesTool = { type: 'function', name: 'f', description: 'does it', parameters: SCHEMA, strict: false };
const responsesTools = { tools: [responsesTool] };
const items = (...more: readonly object[]): Body => ({ input: [...responses.input, ...more] });
const inputPart = (part: object): Body => ({
  input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }, part] }],
});
const assistant = { role: 'assistant', content: 'a' };

const RESPONSES_SAMPLES = members(responses, [
  ['instructions', { instructions: 'Be brief.' }],
  ['input: message of a developer', { input: [{ role: 'developer', content: 'Be brief.' }, ...responses.input] }],
  ['input: input_image', inputPart({ type: 'input_image', image_url: PNG_URL })],
  [
    'input: input_image.detail',
    inputPart({ type: 'input_image', image_url: PNG_URL, detail: 'low' }),
    inputPart({ type: 'input_image', image_url: PNG_URL }),
  ],
  ['input: input_file', inputPart({ type: 'input_file', filename: 'a.pdf', file_data: PDF_URL })],
  [
    'input: function_call, its output',
    items(
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: 'x' },
    ),
  ],
  [
    'input: custom_tool_call, its output',
    items(
      { type: 'custom_tool_call', call_id: 'a', name: 'f', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'a', output: 'x' },
    ),
  ],
  [
    'input: reasoning, encrypted by OpenAI',
    items({ type: 'reasoning', summary: [], encrypted_content: 'gA' }, assistant),
    items(assistant),
  ],
  [
    'input: reasoning, signed by Claude',
    items(
      {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'hm' }],
        encrypted_content: 'reelgate-anthropic:sig',
      },
      assistant,
    ),
    items(assistant),
  ],
  ['input: web_search_call', items({ type: 'web_search_call', id: 'x', status: 'completed' })],
  ['input: item_reference', items({ type: 'item_reference', id: 'x' })],
  ['max_output_tokens', { max_output_tokens: 77 }],
  ['max_tool_calls', { max_tool_calls: 3 }],
  ['temperature', { temperature: 0.5 }],
  ['top_p', { top_p: 0.5 }],
  ['top_logprobs', { top_logprobs: 2 }],
  ['tools: function', responsesTools],
  ['tools: custom', { tools: [{ type: 'custom', name: 'f', description: 'does it' }] }],
  [
    'tools: custom with a grammar',
    { tools: [{ type: 'custom', name: 'f', format: { type: 'grammar', syntax: 'lark', definition: 'x' } }] },
  ],
  ['tools: namespace', { tools: [{ type: 'namespace', name: 'n', description: 'd', tools: [responsesTool] }] }],
  ['tools: web_search', { tools: [{ type: 'web_search' }] }],
  ['tools: code_interpreter, file_search, mcp', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }],
  ['tools: local_shell, computer', { tools: [{ type: 'local_shell' }] }],
  ['tools[].strict', { tools: [{ ...responsesTool, strict: true }] }, responsesTools],
  ['tool_choice: auto, none, required', { tool_choice: 'required' }, responsesTools],
  ['tool_choice: one function', { tool_choice: { type: 'function', name: 'f' } }, responsesTools],
  [
    'tool_choice: allowed_tools',
    { tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] } },
    responsesTools,
  ],
  ['parallel_tool_calls: false', { parallel_tool_calls: false }, responsesTools],
  ['text.format: json_object', { text: { format: { type: 'json_object' } } }],
  ['text.format: json_schema', { text: { format: { type: 'json_schema', name: 'x', schema: SCHEMA } } }],
  ['text.verbosity', { text: { verbosity: 'low' } }],
  ['reasoning.effort', { reasoning: { effort: 'high' } }],
  ['reasoning.summary', { reasoning: { summary: 'auto' } }],
  ['include', { include: ['reasoning.encrypted_content'] }],
  ['truncation: auto', { truncation: 'auto' }],
  ['store: false', { store: false }],
  ['store: true', { store: true }],
  ['previous_response_id, conversation', { previous_response_id: 'resp_1' }],
  ['prompt', { prompt: { id: 'p' } }],
  ['background: true', { background: true }],
  ['context_management', { context_management: [{ type: 'compaction' }] }],
  ['metadata, client_metadata', { metadata: { a: 'b' } }],
  ['user, safety_identifier', { user: 'u' }],
  ['prompt_cache_key', { prompt_cache_key: 'k' }],
  ['service_tier: auto, default, flex', { service_tier: 'auto' }],
  ['service_tier: priority', { service_tier: 'priority' }],
]);

const messages = { model: 'm', max_tokens: 8_000, messages: [{ role: 'user', content: 'hi' }] };
const messagesTool = { name: 'f', description: 'does it', input_schema: SCHEMA };
const messagesTools = { tools: [messagesTool] };
const turn = (...more: readonly object[]): Body => ({ messages: [...messages.messages, ...more] });
const block = (part: object): Body => ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }, part] }] });
const call = { type: 'tool_use', id: 'a', name: 'f', input: {} };
const said = (...blocks: readonly object[]): Body =>
  turn({ role: 'assistant', content: [...blocks, { type: 'text', text: 'a' }] }, ...messages.messages);
const result = (more: object): Body =>
  turn(
    { role: 'assistant', content: [call] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', ...more }] },
  );

const MESSAGES_SAMPLES = members(messages, [
  ['system', { system: 'Be brief.' }],
  [
    'system[].cache_control',
    { system: [{ type: 'text', text: 'a', cache_control: CACHE }] },
    { system: [{ type: 'text', text: 'a' }] },
  ],
  ['messages: system between turns', turn({ role: 'system', content: 'Be brief.' }, ...messages.messages)],
  ['content: image, Base64', block({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } })],
  ['content: image, URL', block({ type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } })],
  [
    'content: document, Base64',
    block({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PNG } }),
  ],
  ['content: document, URL', block({ type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } })],
  [
    'content: document, text',
    block({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } }),
  ],
  ['content: search_result', block({ type: 'search_result', source: 'x', title: 't', content: [] })],
  ['content: tool_use, tool_result', result({ content: 'sunny' })],
  [
    'tool_result: image',
    result({ content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }] }),
  ],
  ['tool_result.is_error', result({ content: 'x', is_error: true }), result({ content: 'x' })],
  ['content: thinking, signed by Claude', said({ type: 'thinking', thinking: 'hm', signature: 'sig' }), said()],
  [
    'content: thinking, signed by Gemini',
    said({ type: 'thinking', thinking: 'hm', signature: 'reelgate-gemini:sig' }),
    said(),
  ],
  [
    'content: thinking, encrypted by OpenAI',
    said({ type: 'thinking', thinking: 'hm', signature: 'reelgate-openai:sig' }),
    said(),
  ],
  ['content: redacted_thinking', said({ type: 'redacted_thinking', data: 'blob' }), said()],
  [
    'content[].citations',
    turn({ role: 'assistant', content: [{ type: 'text', text: 'a', citations: [{ type: 'char_location' }] }] }),
    turn({ role: 'assistant', content: [{ type: 'text', text: 'a' }] }),
  ],
  ['cache_control', { cache_control: CACHE }],
  ['max_tokens', { max_tokens: 7_000 }],
  ['temperature', { temperature: 0.5 }],
  ['top_p', { top_p: 0.5 }],
  ['top_k', { top_k: 5 }],
  ['stop_sequences', { stop_sequences: ['END'] }],
  ['tools', messagesTools],
  ['tools[].strict', { tools: [{ ...messagesTool, strict: true }] }, messagesTools],
  ['tools[].cache_control', { tools: [{ ...messagesTool, cache_control: CACHE }] }, messagesTools],
  ['tools: web_search, web_fetch, code_execution', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ['tools: bash, text_editor, memory, computer', { tools: [{ type: 'bash_20250124', name: 'bash' }] }],
  ['tool_choice: auto, any, none', { tool_choice: { type: 'any' } }, messagesTools],
  ['tool_choice: tool', { tool_choice: { type: 'tool', name: 'f' } }, messagesTools],
  [
    'tool_choice.disable_parallel_tool_use',
    { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    { ...messagesTools, tool_choice: { type: 'auto' } },
  ],
  ['thinking: adaptive', { thinking: { type: 'adaptive' } }],
  ['thinking: enabled with a budget', { thinking: { type: 'enabled', budget_tokens: 2_048 } }],
  ['thinking: disabled', { thinking: { type: 'disabled' } }],
  ['output_config.effort', { output_config: { effort: 'high' } }],
  ['output_config.format', { output_config: { format: { type: 'json_schema', schema: SCHEMA } } }],
  ['metadata', { metadata: { user_id: 'u' } }],
  ['context_management', { context_management: { edits: [] } }],
  ['service_tier: auto, standard_only', { service_tier: 'auto' }],
  ['speed: fast', { speed: 'fast' }],
  ['mcp_servers, container', { mcp_servers: [{ name: 'x' }] }],
]);

const gemini = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };
const geminiPart = (part: object): Body => ({ contents: [{ role: 'user', parts: [{ text: 'hi' }, part] }] });
const functionDeclarations = [{ name: 'f', description: 'does it', parametersJsonSchema: SCHEMA }];
const geminiTools = { tools: [{ functionDeclarations }] };
const config = (generationConfig: object): Body => ({ generationConfig });
const calling = (functionCallingConfig: object): Body => ({ toolConfig: { functionCallingConfig } });
const model = (...parts: readonly object[]): Body => ({ contents: [...gemini.contents, { role: 'model', parts }] });
const functionResult = (more: object): Body => ({
  contents: [
    ...gemini.contents,
    { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', ...more } }] },
  ],
});

const GEMINI_SAMPLES = members(gemini, [
  ['systemInstruction', { systemInstruction: { parts: [{ text: 'Be brief.' }] } }],
  ['parts: inlineData, image', geminiPart({ inlineData: { mimeType: 'image/png', data: PNG } })],
  ['parts: inlineData, document', geminiPart({ inlineData: { mimeType: 'application/pdf', data: PNG } })],
  ['parts: inlineData, audio', geminiPart({ inlineData: { mimeType: 'audio/wav', data: PNG } })],
  ['parts: fileData', geminiPart({ fileData: { fileUri: 'https://a.example/files/1' } })],
  ['parts: functionCall, functionResponse', functionResult({ response: { output: 'sunny' } })],
  ['functionResponse: error', functionResult({ response: { error: 'no' } })],
  [
    'functionResponse.parts',
    functionResult({ response: { output: 'x' }, parts: [{ inlineData: { mimeType: 'image/png', data: PNG } }] }),
  ],
  ['thoughtSignature', model({ text: 'a', thoughtSignature: 'sig' }), model({ text: 'a' })],
  [
    'thoughtSignature, signed by Claude',
    model({ text: 'hm', thought: true, thoughtSignature: 'reelgate-anthropic:sig' }, { text: 'a' }),
    model({ text: 'a' }),
  ],
  ['parts: executableCode', model({ executableCode: { language: 'PYTHON', code: '1' } })],
  ['maxOutputTokens', config({ maxOutputTokens: 77 })],
  ['temperature', config({ temperature: 0.5 })],
  ['topP', config({ topP: 0.5 })],
  ['topK', config({ topK: 5 })],
  ['seed', config({ seed: 1 })],
  ['presencePenalty, frequencyPenalty', config({ presencePenalty: 1 })],
  ['stopSequences', config({ stopSequences: ['END'] })],
  ['responseMimeType: application/json', config({ responseMimeType: 'application/json' })],
  ['responseSchema, responseJsonSchema', config({ responseMimeType: 'application/json', responseJsonSchema: SCHEMA })],
  ['responseModalities: IMAGE, AUDIO', config({ responseModalities: ['IMAGE'] })],
  ['responseLogprobs', config({ responseLogprobs: true })],
  ['speechConfig', config({ speechConfig: { languageCode: 'en' } })],
  ['thinkingConfig.thinkingBudget', config({ thinkingConfig: { thinkingBudget: 2_048 } })],
  ['thinkingConfig.thinkingLevel', config({ thinkingConfig: { thinkingLevel: 'HIGH' } })],
  ['mediaResolution', config({ mediaResolution: 'MEDIA_RESOLUTION_LOW' })],
  ['tools: functionDeclarations', geminiTools],
  ['tools: googleSearch, urlContext, codeExecution', { tools: [{ googleSearch: {} }] }],
  ['functionCallingConfig: AUTO, NONE, ANY', calling({ mode: 'ANY' }), geminiTools],
  ['functionCallingConfig: one function', calling({ mode: 'ANY', allowedFunctionNames: ['f'] }), geminiTools],
  ['functionCallingConfig: several functions', calling({ mode: 'ANY', allowedFunctionNames: ['f', 'g'] }), geminiTools],
  ['safetySettings', { safetySettings: [{ category: 'x', threshold: 'y' }] }],
  ['labels', { labels: { a: 'b' } }],
  ['cachedContent', { cachedContent: 'cachedContents/1' }],
]);

/** Callers' dialects with a sample of each field. */
export const SAMPLED_DIALECTS: readonly SampledDialect[] = [
  { title: "OpenAI's chat completions", dialect: CHAT_DIALECT, samples: CHAT_SAMPLES },
  { title: "OpenAI's Responses", dialect: RESPONSES_DIALECT, samples: RESPONSES_SAMPLES },
  { title: "Anthropic's Messages", dialect: ANTHROPIC_MESSAGES_DIALECT, samples: MESSAGES_SAMPLES },
  { title: "Google's generateContent", dialect: GEMINI_DIALECT, samples: GEMINI_SAMPLES },
];
