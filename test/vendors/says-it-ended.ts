const ENDS = {
  SUCCESS: /^(succeed(ed)?|success(ful)?|completed?|done|finish(ed)?)$/i,
  FAILURE: /^(fail(ed|ure)?|error(ed)?|cancell?ed|expired|aborted|rejected|refused|blocked|filtered|time(d_)?out)$/i,
};

/**
 * Whether a vendor's state name says so in any spelling; a success without a file is a failure. Decided independently
 * of the adapters.
 */
export const saysItEnded = (state: 'SUCCESS' | 'FAILURE', word: unknown): boolean =>
  typeof word === 'string' && (ENDS[state].test(word) || ENDS.SUCCESS.test(word));
