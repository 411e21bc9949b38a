import type { NavigationItem } from '../../parts/navigation.tsx';

/** What administrators see below the rest of the menu. */
export const ADMIN_NAVIGATION: readonly NavigationItem[] = [];
