import { useParams } from '@tanstack/react-router';

/** The `id` in the address of a page about one thing. */
export const useId = (): string => (useParams({ strict: false }) as { readonly id?: string }).id ?? '';
