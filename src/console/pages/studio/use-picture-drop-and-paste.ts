import { useEffect, useRef, useState } from 'react';
import { imageFilesOf } from './read-image-files.ts';

/**
 * Takes pictures that are dropped or pasted anywhere on the page; whether some are dragged over it. Undefined: the model takes none, and
 * the browser does what it does without.
 */
export function usePictureDropAndPaste(take: ((files: readonly File[]) => Promise<void>) | undefined): boolean {
  const [isDragged, setDragged] = useState(false);
  const current = useRef(take);
  current.current = take;
  const takes = take !== undefined;
  useEffect(() => {
    if (!takes) return undefined;
    const accept = (event: ClipboardEvent | DragEvent, data: DataTransfer | null): void => {
      const files = imageFilesOf(data);
      if (files.length === 0) return;
      event.preventDefault();
      void current.current?.(files);
    };
    const onPaste = (event: ClipboardEvent): void => accept(event, event.clipboardData);
    const onDragOver = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      // Without this the browser would leave the page for the picture.
      event.preventDefault();
      setDragged(true);
    };
    const onDragLeave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setDragged(false);
    };
    const onDrop = (event: DragEvent): void => {
      setDragged(false);
      accept(event, event.dataTransfer);
    };
    const listeners = { paste: onPaste, dragover: onDragOver, dragleave: onDragLeave, drop: onDrop } as const;
    for (const [name, listener] of Object.entries(listeners))
      document.addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of Object.entries(listeners))
        document.removeEventListener(name, listener as EventListener);
    };
  }, [takes]);
  return isDragged;
}
