import { useMergedRef } from '@mantine/hooks';
import type { Ref, RefCallback } from 'react';

/** What Mantine's tables need of `@floating-ui/react`, whose 15 KB come with the first menu instead (vite.config.ts). */
export const useMergeRefs = <T>(refs: readonly Ref<T>[]): RefCallback<T> => useMergedRef(...refs);
