import type { UntrustedObject } from '../../../contract/objects.ts';
import { isBlank } from '../dialects.ts';
import type { DroppedFields } from './fields.ts';

/**
 * Treatment of a member of a response: `used` if the caller gets it in its own dialect; `replaced` if the caller's
 * response has our equivalent, or only the upstream's own bookkeeping is lost; `refused` makes the response a failure.
 * All other members are dropped and named.
 */
export type MemberFate = 'used' | 'replaced' | 'refused';

type MemberTable = ReadonlyMap<string, MemberFate>;

function table(used: string, replaced = '', refused = ''): MemberTable {
  const rows = { used, replaced, refused };
  return new Map(
    Object.entries(rows).flatMap(([fate, names]) =>
      names.split(' ').flatMap((name) => (name === '' ? [] : [[name, fate as MemberFate] as const])),
    ),
  );
}

const FAILURES = 'error base_resp code';
const IMAGE =
  'image_url image url source inlineData inline_data b64_json data media_type mimeType mime_type fileUri file_uri';

/** Members of every object a reader opens, by dialect. */
export const RESPONSE_MEMBERS = {
  chat: {
    body: table(
      'id choices usage',
      'object created model system_fingerprint service_tier provider obfuscation request_id x_groq timings message msg success status nvext kv_transfer_params prompt_filter_results',
      FAILURES,
    ),
    choice: table(
      'index delta message text finish_reason usage',
      'native_finish_reason stop_reason matched_stop content_filter_results content_filter_offset seed token_ids routed_experts',
      'error',
    ),
    message: table(
      'content refusal reasoning_content reasoning reasoning_text thinking thought reasoning_details reasoning_opaque thinking_blocks extra_content tool_calls function_call images audio',
      'role name id',
    ),
    part: table(`type text thinking reasoning refusal content ${IMAGE}`, 'index closed'),
    call: table(
      'index id function custom extra_content provider_specific_fields thought_signature name arguments input',
      'type',
    ),
    function: table('name arguments parameters', 'description'),
    custom: table('name input'),
  },
  responses: {
    body: table(
      'id output usage status incomplete_details',
      'object created_at completed_at model background instructions max_output_tokens max_tool_calls metadata parallel_tool_calls previous_response_id prompt_cache_key prompt_cache_retention reasoning safety_identifier service_tier store temperature text tool_choice tools top_logprobs top_p truncation user billing conversation prompt presence_penalty frequency_penalty output_text content_filters moderation',
      FAILURES,
    ),
    event: table(
      'type response item part delta text refusal arguments input item_id output_index content_index summary_index name call_id partial_image_b64',
      'sequence_number obfuscation logprobs annotation annotation_index partial_image_index size quality background output_format',
      'error',
    ),
    item: table(
      'id type content summary encrypted_content call_id name arguments input result output_format',
      'role status size quality background action revised_prompt namespace created_by phase',
    ),
    part: table(`type text refusal ${IMAGE}`, 'logprobs index'),
  },
  messages: {
    body: table(
      'id content usage stop_reason stop_sequence',
      'type role model container context_management stop_details diagnostics',
      FAILURES,
    ),
    event: table('type message index content_block delta usage', 'context_management request_id', 'error'),
    block: table('type text thinking signature data id name input source', 'caller'),
    delta: table(
      'type text thinking signature partial_json stop_reason stop_sequence',
      'container stop_details estimated_tokens',
    ),
  },
  gemini: {
    body: table(
      'candidates promptFeedback usageMetadata responseId usage_metadata',
      'modelVersion createTime modelStatus sdkHttpResponse model_version response_id prompt_feedback',
      FAILURES,
    ),
    candidate: table(
      'index content finishReason finish_reason',
      'finishMessage safetyRatings tokenCount avgLogprobs safety_ratings',
    ),
    part: table(
      'text thought thoughtSignature functionCall inlineData fileData thought_signature function_call inline_data file_data',
      'videoMetadata mediaResolution partMetadata',
    ),
    functionCall: table('id name args'),
    media: table('mimeType mime_type data fileUri file_uri', 'displayName'),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, MemberTable>>>>;

/** Names that are safe in a header. */
const PLAIN_NAME = /^[\w$.-]{1,64}$/;

/** Names the non-empty members of an object that its table does not list. */
export function nameDropped(object: UntrustedObject, members: MemberTable, dropped: DroppedFields, path: string): void {
  for (const key in object)
    if (!members.has(key) && !isBlank(object[key])) dropped.drop(`${path}.${PLAIN_NAME.test(key) ? key : 'unnamed'}`);
}
