/** Named points between the steps of a video at which money moves; tests stop the process there. */
export type FaultPoint =
  | 'after-reserve'
  | 'before-send'
  | 'after-send'
  | 'after-answer'
  | 'before-settle'
  | 'mid-refund';

export type OnFaultPoint = (point: FaultPoint) => void;
