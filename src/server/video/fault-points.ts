/** Named points of the money path of a video; tests stop the process there. */
export type FaultPoint =
  | 'after-reserve'
  | 'before-send'
  | 'after-send'
  | 'after-answer'
  | 'before-settle'
  | 'mid-refund';

export type OnFaultPoint = (point: FaultPoint) => void;
