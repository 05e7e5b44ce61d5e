/** Characters that a person does not see: controls, zero-width ones, and those that turn the direction of text. */

/** Tabs and line ends are seen. */
export const UNSEEN = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
