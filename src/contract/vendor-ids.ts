/** Video vendors, by the short names used in rows, prefixes and folders. */
export const VENDORS = ['kling', 'jimeng', 'hailuo', 'seedance', 'wan', 'veo', 'vidu', 'sora', 'runway'] as const;

export type VendorId = (typeof VENDORS)[number];
