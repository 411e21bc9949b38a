/** Product files of 301–500 lines and why they stay whole. */
export const LONG_FILES: Readonly<Record<string, string>> = {
  'src/server/app.ts': 'the one place that constructs every part and connects it; cut up, nobody would see the whole',
  'src/server/video/submit.ts':
    'the money path of a submit, step by step in one place: reserve, send, accept or refund',
};
