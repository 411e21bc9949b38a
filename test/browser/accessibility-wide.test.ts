import { checkAccessibilityOfEveryPage } from './check-accessibility.ts';

checkAccessibilityOfEveryPage({ language: 'en', scheme: 'light', width: 1280, height: 860 });
