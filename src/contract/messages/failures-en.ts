import type { FailureCause } from '../task-states.ts';

/** Reason of a failure and advice for the user. */
export interface FailureText {
  readonly text: string;
  readonly advice: string;
}

export const FAILURES_EN = {
  prompt_refused: {
    text: "The prompt was refused by the vendor's content check.",
    advice: 'Rephrase it: leave out violence, nudity, names of people and brands, then generate again.',
  },
  picture_refused: {
    text: "An image was refused by the vendor's content check.",
    advice: 'Use another image, or the same one without people, brands and sensitive content.',
  },
  likeness_refused: {
    text: 'The vendor does not generate videos of recognizable or well-known people.',
    advice: 'Use an image without a recognizable face, and no names of real people in the prompt.',
  },
  copyright_refused: {
    text: 'The vendor found protected content: a brand, a character or another work.',
    advice: 'Describe a subject of your own instead of a known character, brand or work.',
  },
  content_refused: {
    text: 'The request was refused by the content check of the vendor.',
    advice: 'Rephrase the prompt or use another image, then generate again.',
  },
  picture_unreadable: {
    text: 'An image could not be fetched or read.',
    advice: 'Upload it as PNG or JPEG, or check that the link opens without signing in.',
  },
  picture_unsuitable: {
    text: 'An image does not fit this model: its size, its proportions, or what it shows.',
    advice: 'Use a clear image of at least 300 pixels on each side; some models need a visible face or whole figure.',
  },
  request_invalid: {
    text: 'The vendor rejected a setting of this video.',
    advice: 'Change length, size, aspect ratio or quality. The message of the vendor below often names the setting.',
  },
  result_refused: {
    text: 'The video was generated, but the content check of the vendor withheld it.',
    advice: 'Generate it again: the next result may pass. If it fails twice, soften the prompt.',
  },
  no_result: {
    text: 'The vendor reported success, but provided no video.',
    advice: 'Generate it again.',
  },
  vendor_busy: {
    text: 'The vendor has too many requests at the moment.',
    advice: 'Try again in a few minutes, or use another model.',
  },
  vendor_trouble: {
    text: 'The vendor had an internal error.',
    advice: 'Try again in a few minutes, or use another model.',
  },
  vendor_check_down: {
    text: 'The content check of the vendor is out of service, so it accepts no videos.',
    advice: 'Try again later, or use a model of another vendor.',
  },
  unreachable: {
    text: 'The vendor could not be reached.',
    advice: 'Try again in a few minutes. If it keeps failing, contact support.',
  },
  account_trouble: {
    text: 'The connection of this service to the vendor needs attention.',
    advice: 'Use another model for now. Only an administrator can solve this: contact support.',
  },
  model_unavailable: {
    text: 'This model cannot be used at the moment.',
    advice: 'Select another model, or contact support to have it enabled.',
  },
  channel_removed: {
    text: 'An administrator removed the connection this video was generated over.',
    advice: 'Generate it again.',
  },
  expired: {
    text: 'The vendor no longer knows this video.',
    advice: 'Generate it again.',
  },
  timeout: {
    text: 'The video was not finished in time.',
    advice: 'Generate it again, or use another model if it takes too long again.',
  },
  unconfirmed: {
    text: 'The vendor never confirmed that it started this video.',
    advice: 'Generate it again.',
  },
  cancelled: {
    text: 'The vendor cancelled this video.',
    advice: 'Generate it again. If it is cancelled again, contact support.',
  },
  unknown: {
    text: 'The vendor could not generate this video.',
    advice: 'Try again or change the prompt. If it keeps failing, contact support.',
  },
} satisfies Readonly<Record<FailureCause, FailureText>>;
