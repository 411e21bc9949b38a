/**
 * Why a video failed, in terms common to all vendors; each has a text and an advice in every language (`localized-messages/video-failures-en.ts`).
 * - the request: `prompt_refused`, `picture_refused`, `likeness_refused` (a recognizable person), `copyright_refused`,
 *   `content_refused` (prompt or pictures, the vendor does not say which), `picture_unreadable`, `picture_unsuitable`, `request_invalid`
 * - the result: `result_refused`, `no_result`
 * - the vendor: `vendor_busy`, `vendor_trouble`, `vendor_check_down` (its moderation is out of service), `unreachable`
 * - the operator's account at the vendor: `account_trouble`, `model_unavailable`, `channel_removed`
 * - the course of the task: `expired`, `timeout`, `unconfirmed`, `cancelled`
 * - `unknown`: none of these
 */
export const FAILURE_CAUSES = [
  'prompt_refused',
  'picture_refused',
  'likeness_refused',
  'copyright_refused',
  'content_refused',
  'picture_unreadable',
  'picture_unsuitable',
  'request_invalid',
  'result_refused',
  'no_result',
  'vendor_busy',
  'vendor_trouble',
  'vendor_check_down',
  'unreachable',
  'account_trouble',
  'model_unavailable',
  'channel_removed',
  'expired',
  'timeout',
  'unconfirmed',
  'cancelled',
  'unknown',
] as const;
export type FailureCause = (typeof FAILURE_CAUSES)[number];
