import type en from '../en/studio.ts';
import type { Translated } from '../resources.ts';

export default {} satisfies Translated<typeof en>;
