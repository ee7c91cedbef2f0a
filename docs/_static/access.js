// What scrolls can be reached by the keyboard, and every part of the page has a name of its own.
"use strict";
addEventListener("DOMContentLoaded", () => {
  for (const part of document.querySelectorAll("pre, .table-wrapper")) part.tabIndex = 0;
  for (const title of document.querySelectorAll("[role=heading]:not([aria-level])")) title.setAttribute("aria-level", "2");
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "All pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
  if (!document.querySelector("h1")) {
    const heading = document.querySelector("article h2, article [role=heading]") ?? document.createElement("h1");
    const top = document.createElement("h1");
    top.textContent = heading.textContent || "Search";
    heading.isConnected ? heading.replaceWith(top) : document.querySelector("article")?.prepend(top);
  }
});
