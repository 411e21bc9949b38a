import { useParams } from '@tanstack/react-router';

/** The `id` parameter in the URL of a detail page. */
export const useRouteId = (): string => (useParams({ strict: false }) as { readonly id?: string }).id ?? '';
